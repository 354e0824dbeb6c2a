import { text } from 'node:stream/consumers';
import { startTestServer } from './listening-server';

/** Starts a receiver that answers each webhook after `ms`. */
export async function startSlowReceiver(ms: number) {
  const seen = { sequences: [] as number[], open: 0, maxOpen: 0 };
  const server = await startTestServer((request, response) => {
    seen.maxOpen = Math.max(seen.maxOpen, ++seen.open);
    void text(request).then((body) => {
      seen.sequences.push((JSON.parse(body) as { data: { sequence: number } }).data.sequence);
      setTimeout(() => {
        seen.open--;
        response.end();
      }, ms);
    });
  });
  return { ...server, seen };
}
