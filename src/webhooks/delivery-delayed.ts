/** No attempt was made. The same call can be made again after `waitMs` milliseconds. */
class DeliveryDelayed extends Error {
  constructor(
    message: string,
    readonly waitMs: number,
  ) {
    super(message);
  }
}

/**
 * Another attempt of the order is running, the seller has reached its limit, or the database was too slow for the
 * lease.
 */
export class DeliveryBusy extends DeliveryDelayed {}

/** The delivery waits for its turn. The message states why, and enters Temporal's history: it contains no URL. */
export class DeliveryWaits extends DeliveryDelayed {}
