/** An arm that does the whole job of an order: create, three changes, three webhooks. */
export interface OrderArm {
  create: (webhookUrl?: string) => Promise<string>;
  /** Makes the order's change of version 1, 2 or 3, and returns when it is saved. */
  change: (orderId: string, version: number) => Promise<void>;
  /** What the arm has stored, for the reconciliation after a block. */
  stored: () => Promise<Stored>;
  /** Process ids by part, for the processor time. */
  pids: Record<string, number>;
  database: string;
  stop: () => Promise<void>;
}

interface Stored {
  orders: number;
  /** Undefined if the arm keeps no workflows that can be counted. */
  workflows?: number | undefined;
  /** Webhook events in state `delivered`. */
  delivered: number;
}

export const CHANGES = 3;
