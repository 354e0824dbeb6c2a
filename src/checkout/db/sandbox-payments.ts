import type { DbClient } from '../../db/pool';

interface SandboxPaymentDetails {
  bank: string;
  amountPence: number;
  payee: string;
  reference: string;
  returnUrl: string;
}

/** A payment as the sandbox bank stores it. */
export interface SandboxPayment {
  id: string;
  /** Null if the payment was cancelled before its start. */
  details: SandboxPaymentDetails | null;
  /** Time since the start, in ms, by the clock of Postgres. */
  ageMs: number;
  /** The test customer who decided. */
  customer: string | null;
  /** Time since the customer decided, in ms, by the clock of Postgres. */
  decidedMs: number;
  isCancelled: boolean;
  isRefunded: boolean;
}

/** Stores the payments of the sandbox bank in Postgres, which all processes share. */
export function createSandboxPaymentStore(db: DbClient) {
  return {
    /** Does nothing if the payment was started. One that was cancelled before its start stays cancelled. */
    async insert(payment: SandboxPaymentDetails & { id: string }) {
      await db.query(
        `insert into sandbox_payment as p (id, bank, amount_pence, payee, reference, return_url)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (id) do update set bank = excluded.bank, amount_pence = excluded.amount_pence,
           payee = excluded.payee, reference = excluded.reference, return_url = excluded.return_url
         where p.return_url is null`,
        [payment.id, payment.bank, payment.amountPence, payment.payee, payment.reference, payment.returnUrl],
      );
    },

    async find(id: string): Promise<SandboxPayment | undefined> {
      const { rows } = await db.query<SandboxPayment>(
        `select id, customer, case when return_url is not null then json_build_object('bank', bank, 'amountPence',
             amount_pence, 'payee', payee, 'reference', reference, 'returnUrl', return_url) end as details,
           extract(epoch from now() - started_at)::float * 1000 as "ageMs",
           coalesce(extract(epoch from now() - decided_at)::float * 1000, 0) as "decidedMs",
           cancelled_at is not null as "isCancelled", refunded_at is not null as "isRefunded"
         from sandbox_payment where id = $1`,
        [id],
      );
      return rows[0];
    },

    /** Records a customer's decision, once, unless the payment was cancelled. */
    async decide(id: string, customer: string): Promise<void> {
      await db.query(
        `update sandbox_payment set customer = $2, decided_at = now()
         where id = $1 and customer is null and cancelled_at is null`,
        [id, customer],
      );
    },

    /**
     * Cancels a payment that no customer has decided on, or only `undecided` ones. An unknown one can no longer start.
     */
    async cancel(id: string, undecided: readonly string[]): Promise<void> {
      await db.query(
        `insert into sandbox_payment as p (id, cancelled_at) values ($1, now())
         on conflict (id) do update set cancelled_at = coalesce(p.cancelled_at, now())
         where p.customer is null or p.customer = any($2)`,
        [id, undecided],
      );
    },

    async refund(id: string): Promise<void> {
      await db.query('update sandbox_payment set refunded_at = coalesce(refunded_at, now()) where id = $1', [id]);
    },
  };
}

export type SandboxPaymentStore = ReturnType<typeof createSandboxPaymentStore>;
