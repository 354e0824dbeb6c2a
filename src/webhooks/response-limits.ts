import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';

/** Limits all that a receiver sends, encrypted or not: certificates, 1xx responses, headers, chunks and their extensions. */
const MAX_BYTES = 128 * 1024;
const CHECK_MS = 50;

const READ_BYTES = 64 * 1024;
const KEPT_BYTES = 1024;

/**
 * Ends a TCP connection on which more arrives than any response needs. TLS reads from it without an event, so a timer checks
 * it too.
 * @returns the check, to call when a socket has read something. It destroys that socket: Node crashes if the connection
 * is destroyed while TLS reads from it
 */
export function limitBytesRead(connection: Socket): (socket: Socket) => void {
  const check = (socket: Socket): void => {
    if (connection.bytesRead <= MAX_BYTES) return;
    const error = new Error(`sent more than ${MAX_BYTES / 1024} KiB`);
    socket.destroy(Object.assign(error, { code: 'ERR_RESPONSE_TOO_LARGE' }));
  };
  const timer = setInterval(check, CHECK_MS, connection);
  connection.once('close', () => clearInterval(timer));
  return check;
}

/**
 * Reads up to 64 KiB of a body, so that an ordinary receiver can finish its response, and returns the first 1 KiB as
 * text. If the body breaks off, returns what arrived. Never throws.
 */
export async function readResponse(body: Readable): Promise<string> {
  const head = Buffer.alloc(KEPT_BYTES);
  let kept = 0;
  let read = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      kept += chunk.copy(head, kept);
      read += chunk.length;
      if (read >= READ_BYTES) break;
    }
  } catch {
    // The status line has decided the outcome.
  }
  return toText(head.subarray(0, kept));
}

/** At most 1 KiB of UTF-8 that Postgres accepts: no NUL, no partial character at the end, U+FFFD for each bad byte. */
function toText(bytes: Buffer): string {
  const text = new TextDecoder().decode(bytes, { stream: true }).replaceAll('\0', '');
  // Each U+FFFD takes three bytes, so the text can exceed the limit.
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(KEPT_BYTES));
  return text.slice(0, read);
}
