import { BASE } from '../support/api';
import type { Attacker } from './attacker';

/** Node drops headers after this number by default. */
const NODE_HEADERS = 2000;
/** Longer than a key of the table that counts requests. */
const LONG_ADDRESS = '9'.repeat(4000);
const TIMEOUT_MS = 10_000;

/**
 * Sends a request as a proxy passes it on that appends its client's address, after more headers than Node keeps by
 * default. Every tenth request has an address of 4,000 characters instead. Returns the status, or `cut`.
 */
export function sendPadded(attacker: Attacker, index: number): Promise<string> {
  const isLong = index % 10 === 0;
  const lines = [
    `GET ${BASE}/order/x/ HTTP/1.1`,
    'Host: x',
    'Connection: close',
    `X-Forwarded-For: ${isLong ? LONG_ADDRESS : `10.1.${Math.floor(index / 250)}.${index % 250}`}`,
    ...(isLong ? [] : [...Array<string>(NODE_HEADERS).fill('a:b'), 'X-Forwarded-For: 192.0.2.1']),
  ];
  return new Promise((resolve) => {
    const socket = attacker.open(attacker.target.proxiedPort);
    let text = '';
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy());
    socket.on('data', (data) => (text += data.toString()));
    socket.on('close', () => resolve(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 'cut'));
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  });
}
