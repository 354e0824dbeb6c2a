import type { Pricing } from '../domain/order';
import { keyDigest } from './api-keys';
import type { DbClient } from './pool';
import { type Columns, selectionOf } from './statement';

/** The settings of a seller's account, which operators maintain. */
export interface SellerSettings {
  name: string;
  defaultRedirectUrl: string | null;
  defaultCancelUrl: string | null;
  pricing: Pricing;
  /** The maximum amount of an order; null if only the service's own limit applies. */
  maxOrderAmountPence: number | null;
  /** Requests per minute with all keys of the seller together; null if only the service's own limit applies. */
  rateLimit: number | null;
  /** New orders a day, and their bytes; null if only the service's own limits apply. */
  ordersPerDay: number | null;
  bytesPerDay: number | null;
}

export interface Seller extends SellerSettings {
  id: string;
  /** True for a sandbox account, false for a live one. Never changes. */
  sandbox: boolean;
  createdAt: Date;
  disabledAt: Date | null;
}

const SETTING_COLUMNS: Columns<SellerSettings> = {
  name: 'name',
  defaultRedirectUrl: 'default_redirect_url',
  defaultCancelUrl: 'default_cancel_url',
  pricing: 'pricing',
  maxOrderAmountPence: 'max_order_amount_pence',
  rateLimit: 'rate_limit',
  ordersPerDay: 'orders_per_day',
  bytesPerDay: 'bytes_per_day',
};

/** SQL: the columns of a `Seller`, of a seller `s`. */
export const SELLER_COLUMNS = `${selectionOf(SETTING_COLUMNS)}, s.id, s.sandbox, s.created_at as "createdAt",
  s.disabled_at as "disabledAt"`;

/** The owner of the key that a request presents. */
export type Caller = { kind: 'seller'; seller: Seller } | { kind: 'checkout' };

export async function insertSeller(db: DbClient, id: string, name: string, sandbox = false): Promise<void> {
  await db.query('insert into seller (id, name, sandbox) values ($1, $2, $3)', [id, name, sandbox]);
}

export async function findSeller(db: DbClient, id: string): Promise<Seller | undefined> {
  const { rows } = await db.query<Seller>(`select ${SELLER_COLUMNS} from seller s where id = $1`, [id]);
  return rows[0];
}

/**
 * Lists sellers, oldest first.
 * @param name only sellers whose name contains this text, in any case
 */
export async function listSellers(db: DbClient, name?: string): Promise<Seller[]> {
  const { rows } = await db.query<Seller>(
    `select ${SELLER_COLUMNS} from seller s where $1::text is null or strpos(lower(name), lower($1)) > 0
     order by created_at, id`,
    [name],
  );
  return rows;
}

/**
 * Changes settings of an account. Existing orders keep what they have copied from the account.
 * @param settings an undefined one stays as it is
 * @returns false if the seller does not exist
 */
export async function updateSeller(db: DbClient, id: string, settings: Partial<SellerSettings>): Promise<boolean> {
  const fields = Object.keys(SETTING_COLUMNS) as (keyof SellerSettings)[];
  const given = fields.filter((field) => settings[field] !== undefined);
  // An update without a change has no assignment otherwise.
  const assignments = ['id = id', ...given.map((field, index) => `${SETTING_COLUMNS[field]} = $${index + 2}`)];
  const values = [id, ...given.map((field) => settings[field])];
  const { rowCount } = await db.query(`update seller set ${assignments.join(', ')} where id = $1`, values);
  return rowCount === 1;
}

/** Counts the live accounts that are not disabled. */
export async function countLiveSellers(db: DbClient): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::integer as count from seller where not sandbox and disabled_at is null',
  );
  return rows[0]?.count ?? 0;
}

/** Disables or enables an account. The seller's keys stop or start to work within a second. */
export async function setDisabled(db: DbClient, id: string, disabled: boolean): Promise<void> {
  await db.query('update seller set disabled_at = case when $2 then coalesce(disabled_at, now()) end where id = $1', [
    id,
    disabled,
  ]);
}

/** Finds the owner of a key. A key that is unknown or revoked has none, and neither has a key of a disabled seller. */
export async function findCaller(db: DbClient, key: string): Promise<Caller | undefined> {
  // The columns of the seller are null in the row of a checkout key.
  const { rows } = await db.query<Seller & { kind: Caller['kind'] }>({
    name: 'find_caller',
    text: `with used as (
       update api_key set last_used_at = date_trunc('hour', now())
       where digest = $1 and revoked_at is null and coalesce(last_used_at, '-infinity') < date_trunc('hour', now()))
     select k.kind, ${SELLER_COLUMNS} from api_key k left join seller s on s.id = k.seller_id
     where k.digest = $1 and k.revoked_at is null and s.disabled_at is null`,
    values: [keyDigest(key)],
  });
  if (!rows[0]) return undefined;
  const { kind, ...seller } = rows[0];
  return kind === 'seller' ? { kind, seller } : { kind };
}
