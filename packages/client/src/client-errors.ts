import type { FieldError, Problem } from './contract-types';

export type ProblemCode = Problem['code'];

/**
 * The response was not a success. `code` is stable, so decide by it and not by `message`, which has the status, the
 * code, the detail and the request id.
 */
export class OrderServiceError extends Error {
  override readonly name = 'OrderServiceError';

  constructor(
    readonly status: number,
    /** `unexpected_response`: another server, such as a proxy, has responded. */
    readonly code: ProblemCode | 'unexpected_response',
    detail: string,
    /** The response body (RFC 9457). */
    readonly problem: Problem | undefined,
    /**
     * From the header `Retry-After`, in ms, at most 24 hours: repeat the call after this time. Undefined without it.
     */
    readonly retryAfterMs?: number,
  ) {
    super(`${status} ${code}: ${detail}${problem ? ` (request ${problem.request_id})` : ''}`);
  }

  /** The errors of the response. With `invalid_request`, one for each invalid field, with its `pointer` or `parameter`. */
  get errors(): readonly FieldError[] {
    return this.problem?.errors ?? [];
  }

  /** Include it when you ask support about a failure. */
  get requestId(): string | undefined {
    return this.problem?.request_id;
  }

  /** With `duplicate_reference`: the order with this reference. Retrieve it: it may be paid, or for another amount. */
  get orderId(): string | undefined {
    return this.problem?.order_id;
  }

  /** With `duplicate_reference`: the checkout page of that order. */
  get orderUrl(): string | undefined {
    return this.problem?.order_url;
  }

  /** With `duplicate_reference`: the status of that order. With a refused change: the order's current status. */
  get orderStatus(): Problem['order_status'] {
    return this.problem?.order_status;
  }

  /** With `duplicate_reference`: the amount of that order in pounds. */
  get orderAmount(): number | undefined {
    return this.problem?.order_amount;
  }
}

/**
 * There was no response; `cause` has the reason. The outcome is unknown. It is safe to repeat the same call, unless it
 * is `rotateWebhookSecret`, which creates another secret, or `testWebhook`, which sends another webhook.
 */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

/** The request is not a recent webhook from the order service. Respond with 400 and ignore it. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

/** True for an error that may go away by itself. A proxy has its own statuses, such as 520, and its 429 has no code. */
export function isTemporary({ status }: OrderServiceError): boolean {
  return status === 408 || status === 429 || status >= 500;
}
