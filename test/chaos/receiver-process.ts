import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { text as readText } from 'node:stream/consumers';
import { drip, endless } from '../support/failing-responses';
import { selfSigned } from '../support/self-signed';
import type { Logged, ReceiverFault } from './receiver';

/*
 * The sellers' webhook endpoint, a process of its own: `node receiver-process.js <log file> <port> <TLS port> <address>`. Every
 * request and every response is a line of the log before it has an effect. The parent process sends whether it fails.
 */
const [, , logFile = '', port = '', tlsPort = '', host = ''] = process.argv;
let isFailing = false;
let count = 0;
/** The ids of the webhooks that have arrived. */
const seen = new Set<string>();
process.on('message', (next: boolean) => (isFailing = next));
process.on('disconnect', () => process.exit());

const log = (line: Logged): void => appendFileSync(logFile, `${JSON.stringify(line)}\n`);

/**
 * Responds in the character of the path: `/steady`, `/slow`, `/flaky`, `/busy`, or the name of a fault, which is steady
 * while the receiver does not fail. Flaky and busy ones fail a webhook once, so that no schedule is too short for them.
 */
function respond(request: IncomingMessage, response: ServerResponse, call: string): void {
  const answer = (status: number, headers: Record<string, string> = {}): void => {
    log({ call, status, retryAfterS: Number(headers['retry-after'] ?? 0), at: Date.now() });
    response.writeHead(status, headers).end('thanks');
  };
  const faults: Record<ReceiverFault, () => void> = {
    late: () => void setTimeout(() => answer(200), 5000),
    '500': () => answer(500),
    '429': () => answer(429, { 'retry-after': '2' }),
    '410': () => answer(410),
    redirect: () => answer(302, { location: `http://127.0.0.1:${port}/inside` }),
    endless: () => endless(500)(response),
    drip: () => drip(response, response.writeHead(500), 'oh no'),
    reset: () => void request.socket.resetAndDestroy(),
  };
  const character = request.url?.split('/')[1] ?? '';
  const id = String(request.headers['webhook-id']);
  const isFirst = !seen.has(id);
  seen.add(id);
  if (isFailing && character in faults) faults[character as ReceiverFault]();
  else if (character === 'slow') setTimeout(() => answer(200), 400);
  else if (character === 'flaky' && isFirst && count % 2 === 0) answer(500);
  else if (character === 'busy' && isFirst && count % 3 === 0) answer(429, { 'retry-after': '1' });
  else answer(200);
}

function handle(request: IncomingMessage, response: ServerResponse): void {
  const call = `${process.pid}.${++count}`;
  void readText(request).then(
    (text) => {
      const { order, sequence } = JSON.parse(text).data as { order: { id: string }; sequence: number };
      const [id, timestamp, signature] = ['id', 'timestamp', 'signature'].map((name) =>
        String(request.headers[`webhook-${name}`]),
      ) as [string, string, string];
      const digest = createHash('sha256').update(text).digest('base64url');
      log({
        ...{ call, order: order.id, sequence, id, timestamp, signature, digest },
        ...{ path: request.url ?? '', at: Date.now() },
      });
      response.on('close', () => log({ call, closedAt: Date.now() }));
      respond(request, response, call);
    },
    () => response.destroy(),
  );
}

createServer(handle).listen(Number(port), host);
createTlsServer(selfSigned('localhost'), handle)
  .on('tlsClientError', () => undefined)
  .listen(Number(tlsPort), host, () => process.send?.('listening'));
