import type { ServerResponse } from 'node:http';

const CHUNK = Buffer.alloc(64 * 1024, 'x');

export function endless(status: number) {
  return (response: ServerResponse): void => {
    const pump = (): void => {
      while (!response.destroyed && response.write(CHUNK));
    };
    response.writeHead(status).on('drain', pump);
    pump();
  };
}

/** Sends a byte immediately and another every second. */
export function drip(response: ServerResponse, stream: NodeJS.WritableStream, text: string): void {
  let sent = 0;
  const next = (): void => void stream.write(text[sent++ % text.length]!);
  const timer = setInterval(next, 1000);
  response.on('close', () => clearInterval(timer));
  next();
}
