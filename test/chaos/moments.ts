import type { Scene } from './scene';
import * as strikes from './strikes';

/** A moment of a delivery at which the worker is killed. */
export interface Moment {
  name: string;
  /** Calls for the victim's webhooks that are no attempt of their own; undefined where that is up to chance. */
  duplicates?: number;
  /** What the plan must provide. */
  needs?: 'failures' | 'a load' | 'to give way';
  env?: Record<string, string>;
  /** Brings the victim there, keeps it there, and kills the worker. */
  strike: (scene: Scene) => Promise<void>;
}

/** Each step of a delivery with the moments to be killed at it; those that take longest to heal come first. */
export const STEPS: Moment[][] = [
  [
    { name: 'an attempt is about to claim the lane', duplicates: 0, strike: strikes.claimWaits },
    { name: 'an attempt has claimed the lane and sent nothing', duplicates: 0, strike: strikes.claimed },
  ],
  [{ name: 'the receiver has not answered', duplicates: 1, strike: strikes.asked }],
  [{ name: 'the receiver has answered and nobody has written it down', duplicates: 1, strike: strikes.answered }],
  [{ name: 'the result is in Postgres and Temporal does not know', duplicates: 0, strike: strikes.recorded }],
  [{ name: 'several orders are being delivered', needs: 'a load', strike: strikes.underLoad }],
  [
    { name: 'the change is saved and Temporal does not know', duplicates: 0, strike: strikes.savedUntold },
    {
      name: 'the change is saved and its attempt waits for a slot',
      duplicates: 0,
      env: { WEBHOOK_CONCURRENCY: '1' },
      strike: strikes.unstarted,
    },
  ],
  [
    {
      name: 'the next attempt waits for its time',
      duplicates: 0,
      needs: 'failures',
      env: { WEBHOOK_RETRY_DELAYS: '0,4,4,4' },
      strike: strikes.backingOff,
    },
  ],
  [
    {
      name: 'a webhook is about to give way to a later one',
      duplicates: 0,
      needs: 'to give way',
      strike: strikes.givingWay,
    },
    {
      name: 'a webhook has given way to a later one and Temporal does not know',
      duplicates: 0,
      needs: 'to give way',
      strike: strikes.gaveWay,
    },
    {
      name: 'a webhook is at its last attempt before it gives way',
      duplicates: 1,
      needs: 'to give way',
      strike: strikes.asked,
    },
  ],
];
