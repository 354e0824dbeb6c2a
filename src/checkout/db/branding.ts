import type { DbClient } from '../../db/pool';

/** The settings of a seller's account that the checkout pages show. */
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

export async function findBranding(db: DbClient, sellerId: string): Promise<Branding> {
  const { rows } = await db.query<Branding>(
    `select shop_url as "shopUrl", brand_colour as colour, logo is not null as "hasLogo",
       contact_email as "contactEmail", help_url as "helpUrl" from seller where id = $1`,
    [sellerId],
  );
  return rows[0] ?? { shopUrl: null, colour: null, hasLogo: false, contactEmail: null, helpUrl: null };
}

interface Logo {
  bytes: Buffer;
  /** `image/png`, `image/jpeg` or `image/webp`. */
  type: string;
}

/** Finds the logo of the seller of the order that a pay link leads to. */
export async function findLogo(db: DbClient, payLinkId: string): Promise<Logo | undefined> {
  const { rows } = await db.query<Logo>(
    `select s.logo as bytes, s.logo_type as type from seller s join orders o on o.seller_id = s.id
     where o.pay_link_id = $1 and s.logo is not null`,
    [payLinkId],
  );
  return rows[0];
}
