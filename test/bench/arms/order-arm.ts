/** An arm that does the whole job of an order: create, three changes, three webhooks. */
export interface OrderArm {
  create: (webhookUrl?: string) => Promise<string>;
  /** Makes the order's change of version 1, 2 or 3, and returns when it is saved. */
  change: (orderId: string, version: number) => Promise<void>;
  /** What the arm has stored, for the reconciliation after a block. */
  stored: () => Promise<Stored>;
}

interface Stored {
  orders: number;
  workflows: number;
  /** Webhook events in state `delivered`. */
  delivered: number;
}

export const CHANGES = 3;
