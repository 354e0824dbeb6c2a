import { STANDARD_SCHEDULE } from '../domain/webhook';
import { MINUTE, SECOND } from './setting';

/** What no installation needs to change, in the shape of the configuration. Tests change some of it. */
export const CONSTANTS = {
  http: {
    // The seller documentation promises 64 KiB.
    maxBodyBytes: 65_536,
    /** Of one process. Further connections are refused. */
    maxConnections: 10_000,
    headersTimeoutMs: 10 * SECOND,
    requestTimeoutMs: 20 * SECOND,
    /** Without traffic. Exceeds the longest time that a call may take. */
    stallTimeoutMs: 90 * SECOND,
  },
  /** Of new orders as JSON, for one account and day. */
  quotaBytes: { live: 5e9, sandbox: 2e8 },
  /** A checkout key serves the customers of all sellers. */
  rateLimits: { windowMs: 10 * SECOND, checkoutKey: 100_000 },
  /** Time that a read of an open order waits for Temporal before it answers from Postgres. */
  readBudgetMs: 150,
  /** Time for a call that starts a workflow. */
  startTimeoutMs: 10 * SECOND,
  background: {
    /** Pause between two searches for orders whose workflow is not started; four times as long for other searches. */
    intervalMs: 5 * SECOND,
    /** Time that the API has to start a new order's workflow before a worker starts it. */
    startAfterMs: 20 * SECOND,
  },
  webhookSchedule: STANDARD_SCHEDULE,
  /** Time for one attempt. */
  webhookTimeoutMs: 15 * SECOND,
  webhookBreaker: {
    /** Attempts in a row without an answer, after which an endpoint's webhooks wait, and one at a time is sent as a probe. */
    failures: 5,
    /** The next probe is due after a quarter of the outage so far, within these limits. */
    minWaitMs: 15 * SECOND,
    maxWaitMs: 5 * MINUTE,
  },
};
