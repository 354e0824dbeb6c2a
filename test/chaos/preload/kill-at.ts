/*
 * Preloaded into a process of the service (`node --require`): kills it before or after a side effect. The service has no
 * code for this, so no setting of the production image can cause it.
 */
import { existsSync } from 'node:fs';
import { Client as GrpcClient } from '@grpc/grpc-js';
import pg from 'pg';
import { Client as HttpClient } from 'undici';

export interface KillPoint {
  /** A committed write to Postgres, a call to Temporal, or a webhook. */
  effect: 'write' | 'call' | 'send';
  /** A regular expression: for the SQL of the write's transaction, or the call's method. */
  match: string;
  when: 'before' | 'after';
  /** Which one, from 1, counted from the moment at which `armedBy` exists. */
  nth: number;
  /** A file. */
  armedBy: string;
}

const point = JSON.parse(process.env.CHAOS_KILL_AT ?? 'null') as KillPoint;
const pattern = new RegExp(point.match);
let count = 0;

/** True for the side effect that the process is killed at. */
function isHit(effect: KillPoint['effect'], text: string): boolean {
  if (effect !== point.effect || !pattern.test(text) || !existsSync(point.armedBy)) return false;
  count += 1;
  return count === point.nth;
}

const kill = (): void => void process.kill(process.pid, 'SIGKILL');

/** Waits forever: nothing of the process runs after the kill, which takes effect a moment later. */
function dieIf(hit: boolean, when: KillPoint['when']): void {
  if (!hit || point.when !== when) return;
  kill();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10_000);
}

type AnyFunction = (this: any, ...args: any[]) => any;

/** Wraps `name` of a prototype. `textOf` returns what the call does, or undefined if it is no side effect. */
function wrap(
  prototype: any,
  name: string,
  effect: KillPoint['effect'],
  textOf: (self: any, args: any[]) => string | undefined,
): void {
  const original = prototype[name] as AnyFunction;
  prototype[name] = function (this: any, ...args: any[]): any {
    const text = textOf(this, args);
    const hit = text !== undefined && isHit(effect, text);
    dieIf(hit, 'before');
    const last = args.at(-1);
    if (hit && typeof last === 'function') {
      args[args.length - 1] = (...results: any[]) => {
        dieIf(true, 'after');
        last(...results);
      };
    }
    const result = original.apply(this, args);
    if (!hit || typeof result?.then !== 'function') return result;
    return result.then((value: unknown) => {
      dieIf(true, 'after');
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
wrap(GrpcClient.prototype, 'makeUnaryRequest', 'call', (_client, [method]) => String(method));
wrap(HttpClient.prototype, 'request', 'send', () => 'webhook');
