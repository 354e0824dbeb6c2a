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

const ACCOUNT_COLUMNS = `id, name, sandbox, default_redirect_url as "defaultRedirectUrl",
  default_cancel_url as "defaultCancelUrl", pricing, max_order_amount_pence as "maxOrderAmountPence",
  rate_limit as "rateLimit", created_at as "createdAt", disabled_at as "disabledAt"`;

export async function findAccount(db: DbClient, sellerId: string): Promise<Account | undefined> {
  const { rows } = await db.query<Account>(`select ${ACCOUNT_COLUMNS} from seller where id = $1`, [sellerId]);
  return rows[0];
}

/**
 * Lists accounts, oldest first.
 * @param name only accounts whose name contains this text, in any case
 */
export async function listAccounts(db: DbClient, name?: string): Promise<Account[]> {
  const { rows } = await db.query<Account>(
    `select ${ACCOUNT_COLUMNS} from seller where $1::text is null or strpos(lower(name), lower($1)) > 0
     order by created_at, id`,
    [name],
  );
  return rows;
}

/**
 * Changes settings of an account. Existing orders keep what they have copied from the account.
 * @returns false if the seller does not exist
 */
export async function updateAccount(
  db: DbClient,
  sellerId: string,
  settings: Partial<AccountSettings>,
): Promise<boolean> {
  const columns = Object.entries(toColumns(settings)).filter(([, value]) => value !== undefined);
  if (columns.length === 0) return (await findAccount(db, sellerId)) !== undefined;
  const assignments = columns.map(([column], index) => `${column} = $${index + 2}`);
  const values = [sellerId, ...columns.map(([, value]) => value)];
  const { rowCount } = await db.query(`update seller set ${assignments.join(', ')} where id = $1`, values);
  return rowCount === 1;
}

/** Counts the live accounts that are not disabled. */
export async function countLiveAccounts(db: DbClient): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::integer as count from seller where not sandbox and disabled_at is null',
  );
  return rows[0]?.count ?? 0;
}

/** Disables or enables an account. The seller's keys stop or start to work within a second. */
export async function setDisabled(db: DbClient, sellerId: string, disabled: boolean): Promise<void> {
  await db.query('update seller set disabled_at = case when $2 then coalesce(disabled_at, now()) end where id = $1', [
    sellerId,
    disabled,
  ]);
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
