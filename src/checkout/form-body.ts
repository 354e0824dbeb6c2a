import bodyParser from 'koa-bodyparser';
import type { Context } from './context';

/** The request body could not be read as a form. */
export class FormBodyError extends Error {
  constructor(readonly isTooLarge: boolean) {
    super('the form could not be read');
  }
}

const parse = bodyParser({
  enableTypes: ['form'],
  formLimit: '16kb',
  onerror: (error: Error & { status?: number }) => {
    throw new FormBodyError(error.status === 413);
  },
});

/**
 * Reads the form's text fields; nested and repeated fields are left out. Browsers do not compress forms, and a few
 * compressed bytes can expand to megabytes.
 * @throws FormBodyError
 */
export async function readFormFields(ctx: Context): Promise<Record<string, string>> {
  if (ctx.get('Content-Encoding') !== '') throw new FormBodyError(false);
  await parse(ctx, () => Promise.resolve());
  const body: unknown = ctx.request.body;
  const entries = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
