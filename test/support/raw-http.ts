import { connect } from 'node:net';
import type { ApiResponse } from './api';

/** Ends a broken test. */
const TIMEOUT_MS = 60_000;

/**
 * Sends raw bytes and returns all that the server sends until it closes the connection, as it does after a request that
 * it cannot read, or one with `Connection: close`.
 */
export function sendRaw(url: string, ...chunks: (string | Buffer)[]): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let response = '';
    const socket = connect(Number(port), hostname, () => {
      for (const chunk of chunks) socket.write(chunk);
    });
    socket.setTimeout(TIMEOUT_MS, () => {
      reject(new Error(`the server does not close the connection, and has sent: ${response}`));
      socket.destroy();
    });
    socket.on('data', (data) => (response += data.toString()));
    // Writes fail once the server has closed the connection. The response it sent before that still counts.
    socket.on('error', (error) => (response === '' ? reject(error) : undefined));
    socket.on('close', () => resolve(response));
  });
}

/** Parses the first response of a raw exchange. */
export function parseRaw(raw: string): ApiResponse {
  const [head = '', ...rest] = raw.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = new Headers(lines.map((line) => line.split(/: ?(.*)/s).slice(0, 2) as [string, string]));
  const text = rest.join('\r\n\r\n').slice(0, Number(headers.get('Content-Length')));
  return { status: Number(statusLine.split(' ')[1]), headers, text, body: JSON.parse(text) };
}
