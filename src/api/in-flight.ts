import { setImmediate as nextLoopIteration } from 'node:timers/promises';
import { limitPerKey } from '../concurrency';
import { unavailable } from '../contracts/problem';
import { sellerOf } from './authenticate';
import type { Context, Next } from './context';

/**
 * The status, for log and metrics, of a request without a response: the caller or the service has closed its
 * connection.
 */
const CLIENT_GONE = 499;

const TOO_MANY = unavailable('Too many such calls of this account are running. Nothing changed.');

type Call = Pick<Context, 'method' | 'socket' | 'status' | 'body'>;

const isRead = ({ method }: Pick<Context, 'method'>): boolean => method === 'GET' || method === 'HEAD';

/**
 * Ends a call whose caller has closed the connection. If it has closed its half only, it may have gone or may wait for
 * the answer: a read gets it, a change is not made.
 * @returns false if the call goes on
 */
function endAbandoned(ctx: Call): boolean {
  const { destroyed, readableEnded } = ctx.socket;
  if (!destroyed && (isRead(ctx) || !readableEnded)) return false;
  ctx.status = CLIENT_GONE;
  ctx.body = 'The caller closed its half of the connection before the call began. Nothing changed.';
  return true;
}

/**
 * Ends a change whose caller has gone. After a pause of this process, Node reads a call before it sees, a turn of the
 * event loop later, that its caller has given up and has perhaps repeated it elsewhere.
 */
export async function dropAbandoned(ctx: Call, next: Next): Promise<void> {
  if (!isRead(ctx)) {
    await nextLoopIteration();
    await nextLoopIteration();
  }
  if (!endAbandoned(ctx)) await next();
}

/**
 * Limits how many requests of one seller run at the same time in this process, so that a seller who sends many
 * expensive requests, or reads no responses, neither delays others nor fills the memory. A request holds its slot until
 * its response is sent or its connection ends. Further requests wait in order.
 * @param maxWaitMs a request that has waited for longer gets a Problem `service_unavailable`
 */
export function limitInFlight(limit: number, maxWaitMs = 10_000) {
  const sellers = limitPerKey(limit, maxWaitMs, TOO_MANY);
  return async (ctx: Call & Pick<Context, 'res' | 'state' | 'params'>, next: Next): Promise<void> => {
    const { id } = sellerOf(ctx);
    // A caller that left during the authentication has closed it already.
    const closed = ctx.res.closed ? Promise.resolve() : new Promise<void>((resolve) => ctx.res.once('close', resolve));
    await new Promise<void>((begin, refuse) => {
      const hold = async (): Promise<void> => {
        begin();
        await closed;
      };
      sellers.run(id, hold).catch(refuse);
    });
    if (!endAbandoned(ctx)) await next();
  };
}
