import bodyParser from 'koa-bodyparser';
import type { Context, Next } from 'koa';

/** A form whose text could not be read. */
export class UnreadableForm extends Error {
  constructor(readonly isTooLarge: boolean) {
    super('the form could not be read');
  }
}

const parse = bodyParser({
  enableTypes: ['form'],
  formLimit: '16kb',
  onerror: (error: Error & { status?: number }) => {
    throw new UnreadableForm(error.status === 413);
  },
});

export async function formBody(ctx: Context, next: Next): Promise<void> {
  await parse(ctx, () => Promise.resolve());
  await next();
}

/** The fields of the form that are plain text, each as it was sent last. */
export function fieldsOf(ctx: Context): Record<string, string> {
  const body: unknown = ctx.request.body;
  const entries = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
