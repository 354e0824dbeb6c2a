import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request as the receiver saw it; times in ms on one clock. */
export interface Call {
  order: string;
  sequence: number;
  /** The header `webhook-id`. */
  id: string;
  text: string;
  startedAt: number;
  /** When it was answered, or its connection broke; infinite until then. */
  endedAt: number;
}

/** Which webhook of which order, and the how manieth call for it, from 1. */
export type CallKey = Pick<Call, 'order' | 'sequence'> & { nth: number };

export interface HoldingReceiver {
  url: string;
  calls: Call[];
  /** Keeps that call waiting; once it has come, resolves with what answers it. */
  hold(key: CallKey): Promise<() => void>;
  stop(): Promise<void>;
}

/** A seller's end that takes its time for each answer, and as much as it is told for some. */
export async function startHoldingReceiver(
  answerMs: number,
  statusFor: (key: CallKey) => number,
): Promise<HoldingReceiver> {
  const calls: Call[] = [];
  const holds = new Map<string, (answer: () => void) => void>();
  const server = createServer((request, response) => {
    const startedAt = performance.now();
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const { order, sequence } = JSON.parse(text).data;
      const id = String(request.headers['webhook-id']);
      const call: Call = { order: order.id, sequence, id, text, startedAt, endedAt: Infinity };
      calls.push(call);
      const nth = calls.filter((other) => other.order === call.order && other.sequence === sequence).length;
      const key = { order: call.order, sequence, nth };
      const end = (): number => (call.endedAt = Math.min(call.endedAt, performance.now()));
      response.on('close', end);
      const answer = (): void => {
        end();
        response.writeHead(statusFor(key)).end();
      };
      const held = holds.get(name(key));
      if (held) held(answer);
      else setTimeout(answer, answerMs);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    calls,
    hold: (key) => new Promise((resolve) => holds.set(name(key), resolve)),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function name({ order, sequence, nth }: CallKey): string {
  return `${order} ${sequence} ${nth}`;
}
