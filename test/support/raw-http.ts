import { connect } from 'node:net';
import type { Answer } from './api';

/** Sends bytes as they are and gives all that came back until the server closed, or was silent for a second. */
export function sendRaw(url: string, ...chunks: (string | Buffer)[]): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(Number(port), hostname, () => {
      for (const chunk of chunks) socket.write(chunk);
    });
    socket.setTimeout(1000, () => socket.destroy());
    socket.on('data', (data) => (answer += data.toString()));
    // What is still being sent when the server hangs up fails; what it said before counts.
    socket.on('error', (error) => (answer === '' ? reject(error) : undefined));
    socket.on('close', () => resolve(answer));
  });
}

/** The first answer in what a socket gave, in the form that the other tests know. */
export function parseRaw(raw: string): Answer {
  const [head = '', ...rest] = raw.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = new Headers(lines.map((line) => line.split(/: ?(.*)/s).slice(0, 2) as [string, string]));
  const text = rest.join('\r\n\r\n').slice(0, Number(headers.get('Content-Length')));
  return { status: Number(statusLine.split(' ')[1]), headers, text, body: JSON.parse(text) };
}
