import type { DbClient } from './pool';

/**
 * Counts an attempt to enter the code of an order's application: ten without a wait, then one every six minutes.
 * @returns false if there were too many
 */
export async function countCodeAttempt(db: DbClient, orderId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `update application set code_attempts_until = greatest(code_attempts_until, now()) + interval '6 minutes'
     where order_id = $1 and (code_attempts_until is null or code_attempts_until <= now() + interval '54 minutes')`,
    [orderId],
  );
  return rowCount === 1;
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
