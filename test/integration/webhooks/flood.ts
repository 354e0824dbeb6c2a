import { Worker } from 'node:worker_threads';

/** Answers each request with endless 103 responses, as fast as the connection takes them. */
const RECEIVER = `
const { parentPort } = require('node:worker_threads');
const bytes = Buffer.from('HTTP/1.1 103 Early Hints\\r\\nlink: </a>\\r\\n\\r\\n'.repeat(1000));
const server = require('node:net').createServer((socket) => {
  const pump = () => { while (!socket.destroyed && socket.write(bytes)); };
  socket.on('error', () => undefined).on('drain', pump).once('data', pump);
});
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

/** A flooding receiver in a thread of its own, so that it does not delay the process that is measured. */
export async function startFlood(): Promise<{ url: string; stop(): Promise<unknown> }> {
  const thread = new Worker(RECEIVER, { eval: true });
  const port = await new Promise<number>((resolve) => void thread.once('message', resolve));
  return { url: `http://127.0.0.1:${port}/`, stop: () => thread.terminate() };
}
