import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';

/** Limits the whole response: nothing else limits the status line, headers, 1xx responses and chunk extensions together. */
const MAX_BYTES = 128 * 1024;
/** What TLS may add to it: certificates, and records of a few bytes each. */
const MAX_ENCRYPTED_BYTES = 1024 * 1024;
/** Servers send two session tickets or so. Each takes time to store, and none counts as a byte of the response. */
const MAX_SESSION_TICKETS = 32;
/** A connection reads encrypted bytes without any event. */
const CHECK_MS = 50;

const READ_BYTES = 64 * 1024;
const KEPT_BYTES = 1024;
/** Chunks take time to parse, however small they are. */
const MAX_CHUNKS = 1000;

/** Ends the connection of a receiver that sends too much. Call it once the socket has its reader. */
export function limitBytesRead(socket: Socket): void {
  socket.prependListener('data', () => {
    if (socket.bytesRead > MAX_BYTES) socket.destroy(tooLarge(`more than ${MAX_BYTES / 1024} KiB`));
  });
}

/**
 * Ends a TCP connection on which TLS reads too much, also if it is no byte of the response, such as padding and session
 * tickets. Call it before TLS begins.
 */
export function limitEncryptedBytesRead(connection: Socket): void {
  const check = setInterval(() => {
    if (connection.bytesRead <= MAX_ENCRYPTED_BYTES) return;
    connection.destroy(tooLarge(`more than ${MAX_ENCRYPTED_BYTES / 1024} KiB over TLS`));
  }, CHECK_MS);
  connection.once('close', () => clearInterval(check));
}

/** Ends a TLS connection whose peer sends session tickets without end. */
export function limitSessionTickets(secure: Socket): void {
  let tickets = 0;
  secure.on('session', () => {
    if (++tickets <= MAX_SESSION_TICKETS) return;
    secure.destroy(tooLarge(`more than ${MAX_SESSION_TICKETS} TLS session tickets`));
  });
}

export function tooLarge(what: string): Error {
  return Object.assign(new Error(`sent ${what}`), { code: 'ERR_RESPONSE_TOO_LARGE' });
}

/**
 * Reads up to 64 KiB of a body, so that an ordinary receiver can finish its response, and returns the first 1 KiB as
 * text. If the body breaks off, returns what arrived. Never throws.
 */
export async function readResponse(body: Readable): Promise<string> {
  const head = Buffer.alloc(KEPT_BYTES);
  let kept = 0;
  let read = 0;
  let chunks = 0;
  await new Promise<void>((resolve) => {
    body.on('data', (chunk: Buffer) => {
      kept += chunk.copy(head, kept);
      read += chunk.length;
      if (read >= READ_BYTES || ++chunks >= MAX_CHUNKS) body.destroy();
    });
    body.once('close', resolve);
  });
  return toText(head.subarray(0, kept));
}

/** At most 1 KiB of UTF-8 that Postgres accepts: no NUL, no partial character at the end, U+FFFD for each bad byte. */
function toText(bytes: Buffer): string {
  const text = new TextDecoder().decode(bytes, { stream: true }).replaceAll('\0', '');
  // Each U+FFFD takes three bytes, so the text can exceed the limit.
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(KEPT_BYTES));
  return text.slice(0, read);
}
