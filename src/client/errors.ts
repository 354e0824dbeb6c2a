import type { FieldError, ProblemBody, ProblemCode } from '../contracts/problem-schema';

/** An answer that is no success. `code` is stable: decide by it. */
export class OrderServiceError extends Error {
  override readonly name = 'OrderServiceError';

  constructor(
    readonly status: number,
    /** `unexpected_answer`: what came is not the order service's, as from a proxy in between. */
    readonly code: ProblemCode | 'unexpected_answer',
    message: string,
    /** The problem as it came (RFC 9457). */
    readonly problem: ProblemBody | undefined,
  ) {
    super(message);
  }

  /** Every failing field, with a JSON pointer. */
  get errors(): readonly FieldError[] {
    return this.problem?.errors ?? [];
  }

  /** Quote it when you ask about a failure. */
  get requestId(): string | undefined {
    return this.problem?.request_id;
  }

  /** With `duplicate_reference`: the order that holds the reference. It may be paid, or for another amount: retrieve it. */
  get orderId(): string | undefined {
    return this.problem?.order_id;
  }

  /** With `duplicate_reference`: where its customer pays. */
  get orderUrl(): string | undefined {
    return this.problem?.order_url;
  }

  /** With `duplicate_reference`: the status of that order; with a refused change: the status it met. */
  get orderStatus(): ProblemBody['order_status'] {
    return this.problem?.order_status;
  }

  /** With `duplicate_reference`: the amount of that order in pounds. */
  get orderAmount(): number | undefined {
    return this.problem?.order_amount;
  }
}

/** No answer came, in time or at all; `cause` says why. The outcome is unknown, and the same call may be made again. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

/** What came is not a webhook of ours, or not a fresh one: answer 400, and do nothing with it. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}
