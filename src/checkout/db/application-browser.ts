import type { DbClient } from '../../db/pool';

/** The browser that an order's application belongs to. */
export interface ApplicantBrowser {
  orderId: string;
  browserDigest: Buffer;
}

/** Returns for each pay link the browser of its order's application, or undefined if it has none. */
export async function findApplicants(
  db: DbClient,
  payLinkIds: readonly string[],
): Promise<(ApplicantBrowser | undefined)[]> {
  const { rows } = await db.query<ApplicantBrowser & { payLinkId: string }>({
    name: 'find_applicants',
    text: `select o.pay_link_id as "payLinkId", o.id as "orderId", a.browser_digest as "browserDigest"
           from orders o join application a on a.order_id = o.id
           where o.pay_link_id = any($1::uuid[]) and a.browser_digest is not null`,
    values: [payLinkIds],
  });
  const found = new Map(rows.map((row) => [row.payLinkId, row]));
  return payLinkIds.map((id) => found.get(id));
}

/**
 * Moves an application to another browser and replaces its code.
 * @param codeNumber of the code that the customer entered
 * @returns false if that code has been used in the meantime
 */
export async function replaceBrowser(
  db: DbClient,
  orderId: string,
  codeNumber: number,
  browserDigest: Buffer,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update application set browser_digest = $3, code_number = code_number + 1
     where order_id = $1 and code_number = $2 and browser_digest is not null`,
    [orderId, codeNumber, browserDigest],
  );
  return rowCount === 1;
}
