import { toPricingBody } from '../contracts/order-mapper';
import type { LogoType } from '../contracts/seller-schema';
import { penceToPounds } from '../domain/money';
import type { Pricing } from '../domain/order';
import type { DbClient } from './pool';

/** The settings of a seller's account, which operators maintain. */
export interface AccountSettings {
  name: string;
  defaultRedirectUrl: string | null;
  defaultCancelUrl: string | null;
  /** Where customers of orders without a cancel URL go back to; null for the front page of the redirect URL. */
  shopUrl: string | null;
  pricing: Pricing;
  /** `#rrggbb` */
  brandColour: string | null;
  logo: { type: LogoType; bytes: Buffer } | null;
  /** How customers reach the seller from the checkout. */
  contactEmail: string | null;
  helpUrl: string | null;
  /** Null if only the service's own limit applies. */
  maxOrderAmountPence: number | null;
  /** Requests per minute; null if only the service's own limit applies. */
  rateLimit: number | null;
}

/** A seller's account without the bytes of its logo. */
export interface Account extends Omit<AccountSettings, 'logo'> {
  id: string;
  /** True for a sandbox account, false for a live one. Never changes. */
  sandbox: boolean;
  logo: { type: LogoType; size: number } | null;
  createdAt: Date;
  disabledAt: Date | null;
}

interface AccountRow extends Omit<Account, 'logo'> {
  logoType: LogoType | null;
  logoSize: number | null;
}

const ACCOUNT_COLUMNS = `id, name, sandbox, default_redirect_url as "defaultRedirectUrl",
  default_cancel_url as "defaultCancelUrl", shop_url as "shopUrl", pricing,
  brand_colour as "brandColour", logo_type as "logoType", octet_length(logo) as "logoSize",
  contact_email as "contactEmail", help_url as "helpUrl", max_order_amount_pence as "maxOrderAmountPence",
  rate_limit as "rateLimit", created_at as "createdAt", disabled_at as "disabledAt"`;

function toAccount({ logoType, logoSize, ...row }: AccountRow): Account {
  return { ...row, logo: logoType === null ? null : { type: logoType, size: logoSize ?? 0 } };
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
 * @param settings at least one
 * @returns false if the seller does not exist
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
    [sellerId, JSON.stringify(toRecordedChange(settings)), ...columns.map(([, value]) => value)],
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
function toColumns({ logo, maxOrderAmountPence, ...settings }: Partial<AccountSettings>): Record<string, unknown> {
  return {
    name: settings.name,
    default_redirect_url: settings.defaultRedirectUrl,
    default_cancel_url: settings.defaultCancelUrl,
    shop_url: settings.shopUrl,
    pricing: settings.pricing,
    brand_colour: settings.brandColour,
    logo: logo && logo.bytes,
    logo_type: logo && logo.type,
    contact_email: settings.contactEmail,
    help_url: settings.helpUrl,
    max_order_amount_pence: maxOrderAmountPence,
    rate_limit: settings.rateLimit,
  };
}

/** The settings under their names on the wire. For a logo, only its type is recorded. */
function toRecordedChange({
  logo,
  maxOrderAmountPence,
  ...settings
}: Partial<AccountSettings>): Record<string, unknown> {
  return {
    name: settings.name,
    redirect_url: settings.defaultRedirectUrl,
    cancel_url: settings.defaultCancelUrl,
    shop_url: settings.shopUrl,
    pricing: settings.pricing && toPricingBody(settings.pricing),
    brand_colour: settings.brandColour,
    logo: logo && logo.type,
    contact_email: settings.contactEmail,
    help_url: settings.helpUrl,
    max_order_amount: maxOrderAmountPence && penceToPounds(maxOrderAmountPence),
    rate_limit: settings.rateLimit,
  };
}
