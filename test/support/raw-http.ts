import { connect } from 'node:net';
import type { ApiResponse } from './api';

/** Time limit for the first byte of the response, far above the usual time. */
const FIRST_BYTE_MS = 20_000;
/** A response is complete after this time without further bytes. */
const IDLE_MS = 2000;

/** Sends raw bytes and returns all that the server sends until it closes the connection or stops sending. */
export function sendRaw(url: string, ...chunks: (string | Buffer)[]): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let response = '';
    const socket = connect(Number(port), hostname, () => {
      for (const chunk of chunks) socket.write(chunk);
    });
    socket.setTimeout(FIRST_BYTE_MS, () => socket.destroy());
    socket.on('data', (data) => {
      response += data.toString();
      socket.setTimeout(IDLE_MS);
    });
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
