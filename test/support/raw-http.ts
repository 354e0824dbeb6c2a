import { connect } from 'node:net';

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
