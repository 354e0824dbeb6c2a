/*
 * Preloaded into a process of the service (`node --require`): kills it before or after a side effect. The service has no
 * code for this, so no setting of the production image can cause it.
 */
import { existsSync } from 'node:fs';
import http from 'node:http';
import { Client as GrpcClient } from '@grpc/grpc-js';
import pg from 'pg';

export interface KillPoint {
  /** A committed write to Postgres, a call to Temporal, or a webhook. */
  effect: 'write' | 'call' | 'send';
  /** A regular expression: for the SQL of the write's transaction, or the call's method and the bytes of its request. */
  match: string;
  when: 'before' | 'after';
  /** Which one, from 1, counted from the moment at which `armedBy` exists. After a write, those that changed no row do not count. */
  nth: number;
  /** A file. */
  armedBy: string;
}

const point = JSON.parse(process.env.CHAOS_KILL_AT ?? 'null') as KillPoint;
const pattern = new RegExp(point.match, 's');
let count = 0;

/** Counts a side effect, and ends the process at the nth. Nothing of it runs after the kill, which takes effect a moment later. */
function strike(): void {
  if (!existsSync(point.armedBy)) return;
  count += 1;
  if (count !== point.nth) return;
  process.kill(process.pid, 'SIGKILL');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10_000);
}

type AnyFunction = (this: any, ...args: any[]) => any;

/** Wraps `name` of a prototype or a module. `textOf` returns what the call does, or undefined if it is no side effect. */
function wrap(
  prototype: any,
  name: string,
  effect: KillPoint['effect'],
  textOf: (self: any, args: any[]) => string | undefined,
): void {
  const original = prototype[name] as AnyFunction;
  prototype[name] = function (this: any, ...args: any[]): any {
    const text = textOf(this, args);
    if (effect !== point.effect || text === undefined || !pattern.test(text)) return original.apply(this, args);
    if (point.when === 'before') {
      strike();
      return original.apply(this, args);
    }
    const done = (result: any): void => {
      if (result?.rowCount !== 0) strike();
    };
    const last = args.at(-1);
    if (typeof last === 'function') {
      args[args.length - 1] = (...results: any[]) => {
        // A failed call is no side effect.
        if (!results[0]) done(results[1]);
        last(...results);
      };
    }
    const result = original.apply(this, args);
    if (effect === 'send') result.once('response', done);
    if (typeof result?.then !== 'function') return result;
    return result.then((value: unknown) => {
      done(value);
      return value;
    });
  };
}

const TRANSACTION = Symbol('the SQL of the open transaction');

wrap(pg.Client.prototype, 'query', 'write', (client, [config]) => {
  const sql: string = typeof config === 'string' ? config : (config?.text ?? '');
  if (sql === 'begin') client[TRANSACTION] = '';
  else if (sql === 'commit' || sql === 'rollback') {
    const all = client[TRANSACTION];
    client[TRANSACTION] = undefined;
    return sql === 'commit' ? all : undefined;
  } else if (client[TRANSACTION] === undefined) return sql;
  else client[TRANSACTION] = `${client[TRANSACTION]}${sql}`;
  return undefined;
});
wrap(
  GrpcClient.prototype,
  'makeUnaryRequest',
  'call',
  (_client, [method, , , request]) => `${method} ${Buffer.from(request).toString('latin1')}`,
);
wrap(http, 'request', 'send', () => 'webhook');
