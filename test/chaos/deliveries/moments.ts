import type { Scene } from './scene';
import * as strikes from './strikes';

/** A moment during a delivery at which the worker is killed. */
export interface Moment {
  name: string;
  /** How many calls for the victim's webhooks repeat an attempt. Undefined if that depends on timing. */
  duplicates?: number;
  /** What the plan must provide: failed attempts, several busy orders, or a later webhook to yield to. */
  needs?: 'failures' | 'a load' | 'a successor';
  env?: Record<string, string>;
  /** Brings the victim to this moment, holds it there, and kills the worker. */
  strike: (scene: Scene) => Promise<void>;
}

/** The moments of a delivery at which a kill can hit it. */
export const MOMENTS: Moment[] = [
  { name: 'the receiver has not responded yet', duplicates: 1, strike: strikes.requested },
  // Postgres may still carry out the waiting statement of the killed worker.
  { name: 'the receiver has responded and the result is not recorded', strike: strikes.responded },
  { name: 'the result is in Postgres and not in Temporal', duplicates: 0, strike: strikes.recorded },
  { name: 'several orders are being delivered', needs: 'a load', strike: strikes.underLoad },
  { name: 'the change is in Postgres and not in Temporal', duplicates: 0, strike: strikes.savedOnly },
  {
    name: 'the change is saved and its attempt waits for a worker slot',
    duplicates: 0,
    env: { WEBHOOK_CONCURRENCY: '1' },
    strike: strikes.unstarted,
  },
  {
    name: 'the next attempt waits for its backoff',
    duplicates: 0,
    needs: 'failures',
    env: { WEBHOOK_RETRY_DELAYS: '0,4,4,4' },
    strike: strikes.backingOff,
  },
  {
    name: 'a webhook is about to yield to the next one',
    duplicates: 0,
    needs: 'a successor',
    strike: strikes.yielding,
  },
  {
    name: 'a webhook has yielded to the next one in Postgres and not in Temporal',
    duplicates: 0,
    needs: 'a successor',
    strike: strikes.yielded,
  },
  {
    name: 'a webhook makes its last attempt before it yields',
    duplicates: 1,
    needs: 'a successor',
    strike: strikes.requested,
  },
];
