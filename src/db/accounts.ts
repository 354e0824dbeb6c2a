import { toPricingBody } from '../contracts/order';
import type { LogoType } from '../contracts/seller';
import { penceToPounds } from '../domain/money';
import type { Pricing } from '../domain/order';
import type { DbClient } from './pool';

/** What an operator sets in a seller's account. */
export interface AccountSettings {
  name: string;
  defaultRedirectUrl: string | null;
  /** Where customers go back to who have completed nothing; null for the front page of the redirect address. */
  shopUrl: string | null;
  pricing: Pricing;
  /** `#rrggbb` */
  brandColour: string | null;
  logo: { type: LogoType; bytes: Buffer } | null;
  maxAmountPence: number | null;
  /** Requests a minute. */
  rateLimit: number | null;
}

/** A seller's account without the bytes of its logo. */
export interface Account extends Omit<AccountSettings, 'logo'> {
  id: string;
  logo: { type: LogoType; size: number } | null;
  createdAt: Date;
  disabledAt: Date | null;
}

interface AccountRow extends Omit<Account, 'logo' | 'maxAmountPence'> {
  logoType: LogoType | null;
  logoSize: number | null;
  maxAmountPence: string | null;
}

const ACCOUNT_COLUMNS = `id, name, default_redirect_url as "defaultRedirectUrl", shop_url as "shopUrl", pricing,
  brand_colour as "brandColour", logo_type as "logoType", octet_length(logo) as "logoSize", max_order_amount_pence as "maxAmountPence",
  rate_limit as "rateLimit", created_at as "createdAt", disabled_at as "disabledAt"`;

function toAccount({ logoType, logoSize, maxAmountPence, ...row }: AccountRow): Account {
  return {
    ...row,
    logo: logoType === null ? null : { type: logoType, size: logoSize ?? 0 },
    maxAmountPence: maxAmountPence === null ? null : Number(maxAmountPence),
  };
}

export async function findAccount(db: DbClient, sellerId: string): Promise<Account | undefined> {
  const { rows } = await db.query<AccountRow>(`select ${ACCOUNT_COLUMNS} from seller where id = $1`, [sellerId]);
  return rows[0] && toAccount(rows[0]);
}

/** The oldest first. */
export async function listAccounts(db: DbClient): Promise<Account[]> {
  const { rows } = await db.query<AccountRow>(`select ${ACCOUNT_COLUMNS} from seller order by created_at, id`);
  return rows.map(toAccount);
}

/**
 * Sets what is given, at least one thing, and notes it among the account's changes. It counts for orders from now on.
 * @returns false where there is no such seller
 */
export async function updateAccount(
  db: DbClient,
  sellerId: string,
  settings: Partial<AccountSettings>,
): Promise<boolean> {
  const columns = Object.entries(toColumns(settings)).filter(([, value]) => value !== undefined);
  const assignments = columns.map(([column], index) => `${column} = $${index + 3}`);
  const { rowCount } = await db.query(
    `with changed as (update seller set ${assignments.join(', ')} where id = $1 returning id)
     insert into seller_change (seller_id, changes) select id, $2 from changed`,
    [sellerId, JSON.stringify(toNote(settings)), ...columns.map(([, value]) => value)],
  );
  return rowCount === 1;
}

/** Disabling has the seller's keys work no longer, at once; enabling has those work again that are not revoked. */
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

export interface AccountChange {
  at: Date;
  changes: Record<string, unknown>;
}

/** What operators set in an account, the oldest first. */
export async function listAccountChanges(db: DbClient, sellerId: string): Promise<AccountChange[]> {
  const { rows } = await db.query<AccountChange>(
    'select at, changes from seller_change where seller_id = $1 order by id',
    [sellerId],
  );
  return rows;
}

/** What is undefined stays as it is. The names are ours: they go into the statement as they stand. */
function toColumns({ logo, maxAmountPence, ...settings }: Partial<AccountSettings>): Record<string, unknown> {
  return {
    name: settings.name,
    default_redirect_url: settings.defaultRedirectUrl,
    shop_url: settings.shopUrl,
    pricing: settings.pricing,
    brand_colour: settings.brandColour,
    logo: logo && logo.bytes,
    logo_type: logo && logo.type,
    max_order_amount_pence: maxAmountPence,
    rate_limit: settings.rateLimit,
  };
}

/** In the words of the wire; of a logo its type will do. */
function toNote({ logo, maxAmountPence, ...settings }: Partial<AccountSettings>): Record<string, unknown> {
  return {
    name: settings.name,
    redirect_url: settings.defaultRedirectUrl,
    shop_url: settings.shopUrl,
    pricing: settings.pricing && toPricingBody(settings.pricing),
    brand_colour: settings.brandColour,
    logo: logo && logo.type,
    max_order_amount: maxAmountPence && penceToPounds(maxAmountPence),
    rate_limit: settings.rateLimit,
  };
}
