import bodyParser from 'koa-bodyparser';
import type { Context } from 'koa';

/** The request body could not be read as a form. */
export class FormBodyError extends Error {
  constructor(readonly isTooLarge: boolean) {
    super('the form could not be read');
  }
}

/** @throws FormBodyError */
export const parseForm = bodyParser({
  enableTypes: ['form'],
  formLimit: '16kb',
  onerror: (error: Error & { status?: number }) => {
    throw new FormBodyError(error.status === 413);
  },
});

/** The form's text fields; nested and repeated fields are left out. */
export function formFields(ctx: Context): Record<string, string> {
  const body: unknown = ctx.request.body;
  const entries = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
