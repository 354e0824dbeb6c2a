import Router from '@koa/router';
import type { DbClient } from '../../db/pool';
import { html } from '../../html/html';
import { findSandboxMails } from '../../mail/mailer';
import type { State } from '../http/context';
import { sendPage } from '../http/send-page';
import { notFound } from '../order-core';
import { formatDateTime } from '../pages/format';
import { SANDBOX_NOTICE } from '../pages/layout';

export const SANDBOX_MAILS = '/pay/sandbox-emails';

/** Shows the mails of all sandbox accounts, without a login. Not for production. */
export function sandboxMailRoutes(db: DbClient, pathPrefix: string): Router<State> {
  const router = new Router<State>({ prefix: SANDBOX_MAILS, sensitive: true });

  router.get('/', async (ctx) => {
    const title = 'Emails of sandbox accounts';
    const mails = await findSandboxMails(db);
    sendPage(ctx, {
      title,
      notice: SANDBOX_NOTICE,
      content: html`<h1>${title}</h1>
        <p>They are kept here for a week instead of being sent. The newest 50 are shown, newest first.</p>
        ${mails.length === 0 && html`<p>There are none yet. Apply for Pay later in a checkout, then reload this page.</p>`}
        ${mails.map(
          ({ id, at, fromName, to, subject, text }) =>
            html`<h2>${subject}</h2>
              <p class="note">
                ${formatDateTime(at)}, from ${fromName} to ${to}.
                <a href="${pathPrefix}${SANDBOX_MAILS}/${id}/">As a mail program shows it</a>
              </p>
              <pre>${text}</pre>`,
        )}`,
    });
  });

  router.get('/:id', async (ctx) => {
    const [mail] = await findSandboxMails(db, (ctx.params as { id: string }).id);
    if (!mail) throw notFound('email');
    ctx.type = 'text/html; charset=utf-8';
    ctx.set('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
    ctx.body = mail.html;
  });

  return router;
}
