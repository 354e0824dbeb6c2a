import { text as readText } from 'node:stream/consumers';
import { startTestServer } from '../../support/listening-server';

/** One request as the receiver saw it. Times are in ms of `performance.now()`. */
export interface Call {
  order: string;
  sequence: number;
  /** The header `webhook-id`. */
  id: string;
  text: string;
  startedAt: number;
  /** When the receiver responded or the connection broke. Infinity until then. */
  endedAt: number;
}

/** The `nth` call, from 1, for one webhook of an order. */
export type CallKey = Pick<Call, 'order' | 'sequence'> & { nth: number };

export interface HoldingReceiver {
  url: string;
  calls: Call[];
  /** Holds the response to a call. Once the call arrives, resolves with a function that sends the response. */
  hold(key: CallKey): Promise<() => void>;
  stop(): Promise<void>;
}

/** Starts a webhook endpoint that responds after `answerMs`, or for calls on hold when told to. */
export async function startHoldingReceiver(
  answerMs: number,
  statusFor: (key: CallKey) => number,
): Promise<HoldingReceiver> {
  const calls: Call[] = [];
  const holds = new Map<string, (answer: () => void) => void>();
  const server = await startTestServer((request, response) => {
    const startedAt = performance.now();
    const onText = (text: string): void => {
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
    };
    void readText(request).then(onText, () => response.destroy());
  });
  return {
    url: `${server.url}/hooks`,
    calls,
    hold: (key) => new Promise((resolve) => holds.set(name(key), resolve)),
    stop: () => server.close(),
  };
}

function name({ order, sequence, nth }: CallKey): string {
  return `${order} ${sequence} ${nth}`;
}
