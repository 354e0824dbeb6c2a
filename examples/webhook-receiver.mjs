// A seller's webhook receiver: it verifies each webhook (Standard Webhooks 1.0) and prints one line for it.
// `npm run receiver` starts it with the WEBHOOK_SECRET that `npm start` wrote to .data/demo.env. Without RECEIVER_PORT, it
// listens on port 4000, or on a free one if 4000 is in use.
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const { WEBHOOK_SECRET, RECEIVER_HOST = '127.0.0.1', RECEIVER_PORT } = process.env;
if (!WEBHOOK_SECRET) throw new Error('WEBHOOK_SECRET is not set. Run `npm start` first, or set it yourself.');
const webhook = new Webhook(WEBHOOK_SECRET);

/** More than any webhook has. */
const MAX_BYTES = 1_000_000;

/**
 * Ids of processed webhooks. Delivery is at least once, so a duplicate gets a 2xx response and is ignored. A receiver that
 * applies statuses also stores the highest sequence of each order, because a resend can arrive after a newer webhook.
 */
const seen = new Set();

const server = createServer(async (request, response) => {
  const chunks = [];
  let bytes = 0;
  try {
    for await (const chunk of request) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_BYTES) {
        console.log(`rejected: more than ${MAX_BYTES} bytes`);
        request.destroy(); // Closes the connection.
        return;
      }
    }
  } catch {
    return; // The client disconnected. A webhook is sent again.
  }
  const text = Buffer.concat(chunks).toString();

  try {
    // Needs the raw body. It also rejects a timestamp that differs from the clock by more than five minutes.
    webhook.verify(text, request.headers);
  } catch (error) {
    console.log(`rejected: ${error.message}`);
    response.writeHead(400).end();
    return;
  }

  const id = request.headers['webhook-id'];
  if (!seen.has(id)) {
    seen.add(id);
    const { type, data } = JSON.parse(text);
    if (type === 'order.status_changed') {
      const { order, previous_status: before, sequence, actor } = data;
      console.log(`verified ${type} ${sequence}: ${before} -> ${order.status} by ${actor}, order ${order.id}`);
    } else {
      console.log(`verified ${type}`);
    }
  }
  response.writeHead(204).end();
});

server.on('listening', () => {
  console.log(`waiting for webhooks: use the webhook_url http://127.0.0.1:${server.address().port}/`);
});
server.on('error', (error) => {
  if (error.code !== 'EADDRINUSE' || RECEIVER_PORT) throw error;
  server.listen(0, RECEIVER_HOST);
});
server.listen(Number(RECEIVER_PORT ?? 4000), RECEIVER_HOST);
