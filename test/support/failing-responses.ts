import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { closedPort } from './listening-server';
import { type RecordingServer, startRecordingServer, startRecordingTlsServer } from './recording-server';

/** Seconds before each attempt. */
export const DELAYS = [0, 0.2, 0.4, 0.6];
/** Timeout of an attempt. Longer than a stall of the machine, which would make other receivers time out too. */
export const TIMEOUT_MS = 10_000;

export interface FailingReceiver {
  url: string;
  /** Undefined if nothing listens at the URL. */
  receiver?: RecordingServer;
  /** The server that a redirect points to. */
  bystander?: RecordingServer;
  /** The earliest retry that each response allowed, in unix ms. */
  notBefore?: number[];
}

export type Start = () => Promise<FailingReceiver>;

/** Fails all attempts at an order's first webhook, then responds 200. */
export function failingWith(fail: (response: ServerResponse) => void): Start {
  return async () => {
    const receiver: RecordingServer = await startRecordingServer((_request, response) => {
      if (receiver.received.length > DELAYS.length) response.end();
      else fail(response);
    });
    return { url: `http://127.0.0.1:${receiver.port}/`, receiver };
  };
}

/** Responds 429 or 503 with a Retry-After header. */
export function failingWithRetryAfter(status: number, when: () => { header: string; notBefore: number }): Start {
  return async () => {
    const notBefore: number[] = [];
    const start = failingWith((response) => {
      const retryAfter = when();
      notBefore.push(retryAfter.notBefore);
      response.writeHead(status, { 'retry-after': retryAfter.header }).end();
    });
    return { ...(await start()), notBefore };
  };
}

export function retryInSeconds() {
  return { header: '1', notBefore: Date.now() + 1000 };
}

export function retryAtDate() {
  const notBefore = Math.ceil(Date.now() / 1000) * 1000 + 1000;
  return { header: new Date(notBefore).toUTCString(), notBefore };
}

export async function redirectingToPrivate(): Promise<FailingReceiver> {
  const bystander = await startRecordingServer((_request, response) => response.end());
  const location = `http://127.0.0.1:${bystander.port}/latest/meta-data/`;
  return { ...(await failingWith((response) => response.writeHead(302, { location }).end())()), bystander };
}

export function overTls(certificate: { key: string; cert: string }): Start {
  return async () => {
    const receiver = await startRecordingTlsServer(certificate, (_request, response) => response.end());
    return { url: `https://localhost:${receiver.port}/`, receiver };
  };
}

export async function plainAtHttps(): Promise<FailingReceiver> {
  const receiver = await startRecordingServer((_request, response) => response.end());
  return { url: `https://127.0.0.1:${receiver.port}/`, receiver };
}

export async function refusingConnections(): Promise<FailingReceiver> {
  return { url: `http://127.0.0.1:${await closedPort()}/` };
}

export function unknownHost(): Promise<FailingReceiver> {
  return Promise.resolve({ url: 'http://receiver.invalid/' });
}

export function afterTimeout(response: ServerResponse): void {
  const timer = setTimeout(() => response.end(), TIMEOUT_MS + 10_000);
  response.on('close', () => clearTimeout(timer));
}

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

export function hugeHeaders(response: ServerResponse): void {
  response.writeHead(200, { 'x-pad': 'x'.repeat(1024 * 1024) }).end();
}

/** 1 GB of zeros, compressed to 1 MB. */
const BOMB = Buffer.concat(Array<Buffer>(20).fill(gzipSync(Buffer.alloc(50 * 1024 * 1024))));

export function bomb(response: ServerResponse): void {
  response.writeHead(500, { 'content-encoding': 'gzip', 'content-length': BOMB.length }).end(BOMB);
}
