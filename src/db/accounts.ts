import { toPricingBody } from '../contracts/order-mapper';
import { penceToPounds } from '../domain/money';
import type { Pricing } from '../domain/order';
import type { DbClient } from './pool';

/** The settings of a seller's account, which operators maintain. */
export interface AccountSettings {
  name: string;
  defaultRedirectUrl: string | null;
  defaultCancelUrl: string | null;
  pricing: Pricing;
  /** Null if only the service's own limit applies. */
  maxOrderAmountPence: number | null;
  /** Requests per minute; null if only the service's own limit applies. */
  rateLimit: number | null;
}

export interface Account extends AccountSettings {
  id: string;
  /** True for a sandbox account, false for a live one. Never changes. */
  sandbox: boolean;
  createdAt: Date;
  disabledAt: Date | null;
}

interface AccountRow extends Omit<Account, 'maxOrderAmountPence'> {
  maxOrderAmountPence: string | null;
}

const ACCOUNT_COLUMNS = `id, name, sandbox, default_redirect_url as "defaultRedirectUrl",
  default_cancel_url as "defaultCancelUrl", pricing, max_order_amount_pence as "maxOrderAmountPence",
  rate_limit as "rateLimit", created_at as "createdAt", disabled_at as "disabledAt"`;

function toAccount({ maxOrderAmountPence, ...row }: AccountRow): Account {
  return {
    ...row,
    maxOrderAmountPence: maxOrderAmountPence === null ? null : Number(maxOrderAmountPence),
  };
}

export async function findAccount(db: DbClient, sellerId: string): Promise<Account | undefined> {
  const { rows } = await db.query<AccountRow>(`select ${ACCOUNT_COLUMNS} from seller where id = $1`, [sellerId]);
  return rows[0] && toAccount(rows[0]);
}

/** Lists all accounts, oldest first. */
export async function listAccounts(db: DbClient): Promise<Account[]> {
  const { rows } = await db.query<AccountRow>(`select ${ACCOUNT_COLUMNS} from seller order by created_at, id`);
  return rows.map(toAccount);
}

/**
 * Changes settings of an account and records the change. Existing orders keep what they have copied from the account.
 * @param others changes that are recorded with these, under their names on the wire
 * @returns false if the seller does not exist
 */
export async function updateAccount(
  db: DbClient,
  sellerId: string,
  settings: Partial<AccountSettings>,
  others: Record<string, unknown> = {},
): Promise<boolean> {
  const columns = Object.entries(toColumns(settings)).filter(([, value]) => value !== undefined);
  const assignments = columns.map(([column], index) => `${column} = $${index + 3}`);
  const changed =
    columns.length > 0
      ? `update seller set ${assignments.join(', ')} where id = $1 returning id`
      : 'select id from seller where id = $1';
  const { rowCount } = await db.query(
    `with changed as (${changed})
     insert into seller_change (seller_id, changes) select id, $2 from changed`,
    [sellerId, JSON.stringify({ ...toRecordedChange(settings), ...others }), ...columns.map(([, value]) => value)],
  );
  return rowCount === 1;
}

/** Disables or enables an account, and records the change. The seller's keys stop or start to work within a second. */
export async function setDisabled(db: DbClient, sellerId: string, disabled: boolean): Promise<void> {
  await db.query(
    `with changed as (
       update seller set disabled_at = case when $2 then now() end
       where id = $1 and (disabled_at is null) = $2 returning id
     )
     insert into seller_change (seller_id, changes) select id, $3 from changed`,
    [sellerId, disabled, JSON.stringify({ disabled })],
  );
}

interface AccountChange {
  at: Date;
  changes: Record<string, unknown>;
}

/** Lists the changes that operators made to an account, oldest first. */
export async function listAccountChanges(db: DbClient, sellerId: string): Promise<AccountChange[]> {
  const { rows } = await db.query<AccountChange>(
    'select at, changes from seller_change where seller_id = $1 order by id',
    [sellerId],
  );
  return rows;
}

/** An undefined column stays as it is. The column names go into the statement unescaped. */
function toColumns({ maxOrderAmountPence, ...settings }: Partial<AccountSettings>): Record<string, unknown> {
  return {
    name: settings.name,
    default_redirect_url: settings.defaultRedirectUrl,
    default_cancel_url: settings.defaultCancelUrl,
    pricing: settings.pricing,
    max_order_amount_pence: maxOrderAmountPence,
    rate_limit: settings.rateLimit,
  };
}

/** The settings under their names on the wire. */
function toRecordedChange({ maxOrderAmountPence, ...settings }: Partial<AccountSettings>): Record<string, unknown> {
  return {
    name: settings.name,
    redirect_url: settings.defaultRedirectUrl,
    cancel_url: settings.defaultCancelUrl,
    pricing: settings.pricing && toPricingBody(settings.pricing),
    max_order_amount: maxOrderAmountPence && penceToPounds(maxOrderAmountPence),
    rate_limit: settings.rateLimit,
  };
}
