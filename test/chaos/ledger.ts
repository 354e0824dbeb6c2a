import type { ProgressEvent } from '../../src/domain/order';

/** `page`: what the customer's page says. */
export type CallKind = 'create' | 'read' | 'page' | 'cancel' | ProgressEvent | 'resend';

/** One answered call about an order. Times are in ms of `performance.now()`. */
export interface Answer {
  kind: CallKind;
  status: number;
  startedAt: number;
  endedAt: number;
  /** The order in the answer, if it has one. A page shows only the status. */
  order?: { status: string; id?: string; reference?: string; amount?: number };
  /** The version, if the answer has an ETag. */
  version?: number;
}

/** A resend that was acknowledged. */
export interface Resend {
  webhookId: string;
  /** Before the call, in unix ms. */
  requestedAt: number;
}

/** Everything that callers know about an order. */
export interface OrderRecord {
  sellerId: string;
  reference: string;
  amount: number;
  webhookUrl: string | null;
  webhookSecret: string;
  /** All ids that a 201 or a 409 for its reference named, the latest last. Only a restoration can explain more than one. */
  ids: Set<string>;
  answers: Answer[];
  /** Of the customer's page. Undefined until an answer has it. */
  payPath?: string;
  /** True if the harness cancels it at the end of the load. */
  isCleanedUp: boolean;
  /** True if a webhook was resent, also by an operator. */
  resent: boolean;
  resends: Resend[];
}

/** An order in a list of a seller's orders. */
export interface Listed {
  sellerId: string;
  id: string;
  reference: string;
  amount: number;
}

/** What callers were told during a run. The invariants compare it with what the stores and the receiver hold. */
export interface Ledger {
  orders: OrderRecord[];
  listed: Listed[];
  /** Answers that the contract does not allow, and calls that never succeeded. */
  complaints: string[];
  /** When calls succeeded, in ms of `performance.now()`: not pages, which reload. */
  successes: number[];
  tries: Try[];
}

/** One request of a call, which is repeated until it succeeds. Times are in ms of `performance.now()`. */
export interface Try {
  kind: 'create' | 'read' | 'change';
  /** When the first try of the call began. */
  calledAt: number;
  startedAt: number;
  endedAt: number;
  /** 0 is a broken or refused connection, or a time-out. */
  status: number;
  isSuccess: boolean;
}

export const createLedger = (): Ledger => ({
  ...{ orders: [], listed: [], complaints: [] },
  ...{ successes: [], tries: [] },
});

/** The orders that were acknowledged: their callers know an id. */
export function acknowledged({ orders }: Ledger): { id: string; record: OrderRecord }[] {
  return orders.flatMap((record) => [...record.ids].slice(-1).map((id) => ({ id, record })));
}

/** True if no answer has shown the order closed. */
export const seemsOpen = ({ answers }: OrderRecord): boolean =>
  !answers.some(({ order }) => order && ['SUCCESSFUL', 'UNSUCCESSFUL'].includes(order.status));
