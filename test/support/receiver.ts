import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Delivery {
  headers: IncomingHttpHeaders;
  /** The exact text that came. */
  text: string;
  body: any;
  at: number;
}

export interface Receiver {
  url: string;
  deliveries: Delivery[];
  /** The status of the answers to come; 200 at first. */
  answerWith: (status: number | ((delivery: Delivery) => number), headers?: Record<string, string>) => void;
  stop(): Promise<void>;
}

/** A seller's end of the webhooks: a real HTTP server that keeps what comes. */
export async function startReceiver(): Promise<Receiver> {
  const deliveries: Delivery[] = [];
  let answer: (delivery: Delivery) => number = () => 200;
  let answerHeaders: Record<string, string> = {};
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const delivery = { headers: request.headers, text, body: JSON.parse(text), at: Date.now() };
      deliveries.push(delivery);
      response.writeHead(answer(delivery), answerHeaders).end('thanks');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    deliveries,
    answerWith(status, headers = {}) {
      answer = typeof status === 'number' ? () => status : status;
      answerHeaders = headers;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
