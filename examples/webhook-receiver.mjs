// A seller's end of the webhooks: verifies each one (Standard Webhooks 1.0) and prints it in one line.
//   npm run receiver
// reads WEBHOOK_SECRET from .data/demo.env, which `npm start` writes. RECEIVER_PORT is 4000 unless set.
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const { WEBHOOK_SECRET, RECEIVER_PORT = '4000' } = process.env;
if (!WEBHOOK_SECRET) throw new Error('WEBHOOK_SECRET is not set: run `npm start` first, or give it yourself');
const webhook = new Webhook(WEBHOOK_SECRET);

/** Ids of webhooks taken: delivery is at least once, so a second copy is acknowledged and otherwise ignored. */
const seen = new Set();

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();

  try {
    // Over the exact bytes that came; it also refuses a timestamp more than five minutes off.
    webhook.verify(text, request.headers);
  } catch (error) {
    console.log(`refused: ${error.message}`);
    response.writeHead(401).end();
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

server.listen(Number(RECEIVER_PORT), '127.0.0.1', () => {
  console.log(`waiting for webhooks on http://127.0.0.1:${RECEIVER_PORT}/`);
});
