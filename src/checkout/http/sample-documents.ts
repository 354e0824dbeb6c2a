import Router from '@koa/router';
import type { State } from './context';
import { isUuid } from '../../domain/text';
import { html } from '../../html/html';
import { type Page, SANDBOX_NOTICE } from '../pages/layout';
import { SAMPLE_DOCUMENTS } from '../pages/provider-details';
import type { RouteTools } from './read-request';
import { sendPage } from './send-page';

/** Samples, for a sandbox only: what each document has to contain. */
const DOCUMENTS: Readonly<Record<string, [title: string, ...points: string[]]>> = {
  privacy: [
    'Privacy notice',
    'Who is responsible for your data, how to reach them, and your rights.',
    'Your business name, company number, email address and turnover are used to decide on your application. They are not shown to the shop, and are deleted a set time after your order ends.',
    'One cookie identifies your browser, so that others with the same link cannot see your application.',
  ],
  terms: [
    'Terms of use',
    'You apply on behalf of a business, and are allowed to.',
    'An order is complete only when this checkout shows it. A payment for one that is cancelled or expires is returned to your account.',
    'The shop delivers what you order. Its own terms apply to that.',
  ],
  'credit-agreement': [
    'Credit agreement',
    'The lender, your business, the amount, the interest rate, the APR, and each repayment with its day.',
    'What happens if you repay late, and that you can repay early at any time.',
    'How to withdraw, and how to complain.',
  ],
};

/** With the shop's name and colour, if the link states the order. */
export function sampleDocumentRoutes({ pathOf, loadLayout }: Pick<RouteTools, 'pathOf' | 'loadLayout'>): Router<State> {
  const router = new Router<State>({ prefix: SAMPLE_DOCUMENTS, sensitive: true });
  for (const [name, [title, ...points]] of Object.entries(DOCUMENTS)) {
    const pageFor = (payLinkId: unknown): Page => ({
      title,
      notice: SANDBOX_NOTICE,
      content: html`<h1>${title}</h1>
        <p class="message">This is a sample for tests. It is not binding. The real document states:</p>
        <ul>
          ${points.map((point) => html`<li>${point}</li>`)}
        </ul>
        ${
          // Apps that open links in their own window may show no other way back.
          isUuid(payLinkId) && html`<a class="button" href="${pathOf(payLinkId)}/">Back to your order</a>`
        }`,
    });
    router.get(`/${name}`, async (ctx) => {
      const { order } = ctx.query;
      if (isUuid(order)) await loadLayout(ctx, order);
      sendPage(ctx, pageFor(order));
    });
  }
  return router;
}
