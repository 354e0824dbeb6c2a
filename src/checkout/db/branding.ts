import type { LogoType } from '../../contracts/seller-schema';
import type { DbClient } from '../../db/pool';

/** What the checkout pages show of a seller. Operators maintain it with the account. */
export interface Branding {
  /** Where customers of orders without a cancel URL go back to; null for the front page of the redirect URL. */
  shopUrl: string | null;
  /** `#rrggbb`; null for the service's own colour. */
  colour: string | null;
  hasLogo: boolean;
  /** How customers reach the seller; null if the account does not state it. */
  contactEmail: string | null;
  helpUrl: string | null;
}

export interface BrandingSettings extends Omit<Branding, 'hasLogo'> {
  logo: Logo | null;
}

interface Logo {
  type: LogoType;
  bytes: Buffer;
}

const NONE: Branding = { shopUrl: null, colour: null, hasLogo: false, contactEmail: null, helpUrl: null };

export async function findBranding(db: DbClient, sellerId: string): Promise<Branding> {
  const { rows } = await db.query<Branding>(
    `select shop_url as "shopUrl", colour, logo is not null as "hasLogo", contact_email as "contactEmail",
       help_url as "helpUrl" from branding where seller_id = $1`,
    [sellerId],
  );
  return rows[0] ?? NONE;
}

/** Finds the logo of the seller of the order that a pay link leads to. */
export async function findLogo(db: DbClient, payLinkId: string): Promise<Logo | undefined> {
  const { rows } = await db.query<Logo>(
    `select b.logo as bytes, b.logo_type as type from branding b join checkout_order o on o.seller_id = b.seller_id
     where o.pay_link_id = $1 and b.logo is not null`,
    [payLinkId],
  );
  return rows[0];
}

/** The type and the size in bytes of a seller's logo; null if it has none. */
export async function describeLogo(db: DbClient, sellerId: string): Promise<{ type: string; size: number } | null> {
  const { rows } = await db.query<{ type: string; size: number }>(
    'select logo_type as type, octet_length(logo) as size from branding where seller_id = $1 and logo is not null',
    [sellerId],
  );
  return rows[0] ?? null;
}

/** Changes what customers see of a seller. An undefined setting stays as it is. */
export async function saveBranding(
  db: DbClient,
  sellerId: string,
  { shopUrl, colour, logo, contactEmail, helpUrl }: Partial<BrandingSettings>,
): Promise<void> {
  const columns = Object.entries({
    shop_url: shopUrl,
    colour,
    logo: logo && logo.bytes,
    logo_type: logo && logo.type,
    contact_email: contactEmail,
    help_url: helpUrl,
  }).filter(([, value]) => value !== undefined);
  if (columns.length === 0) return;
  const names = columns.map(([name]) => name);
  await db.query(
    `insert into branding (seller_id, ${names.join(', ')})
     values ($1, ${names.map((_, index) => `$${index + 2}`).join(', ')})
     on conflict (seller_id) do update set ${names.map((name) => `${name} = excluded.${name}`).join(', ')}`,
    [sellerId, ...columns.map(([, value]) => value)],
  );
}
