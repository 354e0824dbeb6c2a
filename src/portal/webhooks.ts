import { WEBHOOK_STATES, type WebhookState } from '../domain/webhook';
import {
  resendWebhooksRequestSchema,
  webhookListQuerySchema,
  webhookTestRequestSchema,
} from '../contracts/webhook-request-schemas';
import type { WebhookEndpointBody, WebhookEventBody } from '../contracts/webhook-schemas';
import { type Html, html } from '../html/html';
import { validate } from '../contracts/field-errors';
import type { OrderDependencies } from '../orders/dependencies';
import { retrieveWebhookEndpoint, testWebhook } from '../orders/webhook-endpoint';
import { listWebhooks, resendWebhook, resendWebhooks } from '../orders/webhooks';
import type { Routes, Visit } from './context';
import { field, form, select, time } from './layout';

export const STATES: Record<WebhookState, string> = {
  pending: 'Waiting',
  exhausted: 'Given up',
  disabled: 'Not sent',
  delivered: 'Delivered',
};
const ENDPOINTS: Readonly<Record<string, [label: string, className: string]>> = {
  answering: ['Answering', 'good'],
  failing: ['Errors', 'bad'],
  not_answering: ['No answer', 'bad'],
};
const DAY_MS = 86_400_000;

/** The state of the endpoints, resends, a test, and the list. */
export function webhookPages({ page, action }: Routes, deps: OrderDependencies): void {
  const testSchema = webhookTestRequestSchema(deps.rules);

  page('/webhooks', async (visit, ctx) => {
    const { state, cursor } = ctx.query;
    const query = validate(webhookListQuerySchema, { state, cursor });
    const { seller } = visit.session;
    const address = await retrieveWebhookEndpoint(deps, seller.id);
    const list = await listWebhooks(deps, seller.id, query);
    const failed = list.data.filter((one) => hasFailed(one) && one.url !== address.url);
    return {
      title: 'Webhooks',
      content: html`<section aria-labelledby="endpoints">
          <h2 id="endpoints">Your endpoints</h2>
          ${rows(
            address.endpoints.map((one) => endpointRow(visit, one, failed)),
            'No webhook was sent in the last 30 days.',
          )}
          <p class="hint">
            ${address.url === null ? 'Orders that name no webhook_url: nothing is sent.' : html`Orders that name no webhook_url: ${address.url}`}
            <a href="${visit.path}/developers/#address">${address.url === null ? 'Set an address' : 'Change'}</a>
          </p>
        </section>
        ${!visit.session.readOnly && tools(visit, address.url, query.state)}
        <section aria-labelledby="all">
          <h2 id="all">All webhooks</h2>
          <nav aria-label="Filter">
            ${[undefined, ...WEBHOOK_STATES].map(
              (state) =>
                html`<a href="?${state && `state=${state}`}" ${state === query.state && html`aria-current="true"`}
                  >${state ? STATES[state] : 'All'}</a
                >`,
            )}
          </nav>
          ${rows(
            list.data.map((webhook) => webhookRow(visit, webhook)),
            'There are none.',
          )}
          ${list.next_cursor !== null && html`<p><a href="?${query.state && `state=${query.state}&`}cursor=${list.next_cursor}">Older webhooks</a></p>`}
        </section>`,
    };
  });

  action('/webhooks/:webhookId/resend', 'webhook resend', [], async ({ session }, _fields, ctx) => {
    const { order_id: id } = await resendWebhook(deps, ctx.params.webhookId ?? '', session.seller.id);
    return `/orders/${id}/?done=resent`;
  });

  action('/webhooks/resend', 'webhooks resend', ['state', 'since'], async ({ session }, { state, since }) => {
    const { data } = validate(resendWebhooksRequestSchema, { data: { state, created_from: `${since}T00:00:00Z` } });
    await resendWebhooks(deps, session.seller.id, data);
    return '/webhooks/?done=resending';
  });

  action('/webhooks/test', 'webhook test', [], async (visit, { url = '' }) => {
    const { data } = validate(testSchema, { data: { url } });
    const result = await testWebhook(deps, visit.session.seller.id, data.url);
    const { delivered, status, duration_ms: duration, error_detail: detail, response_body: response } = result;
    return {
      title: delivered ? 'The test webhook was accepted' : 'The test webhook failed',
      content: html`<p>
          <span class="badge ${delivered ? 'good' : 'bad'}">${status ?? 'No response'}</span> after ${duration} ms
        </p>
        ${detail !== null && html`<p>${detail}</p>`}
        ${
          response !== '' &&
          html`<h2>Your server’s response</h2>
            <pre>${response}</pre>`
        }
        <p><a href="${visit.path}/webhooks/">Back to the webhooks</a></p>`,
    };
  });
}

const rows = (items: readonly Html[], none: string): Html =>
  items.length === 0
    ? html`<p>${none}</p>`
    : html`<ul class="rows">
        ${items}
      </ul>`;

/** @param failed webhooks that the page lists: they show which URL of the endpoint fails */
function endpointRow(
  visit: Visit,
  { origin, state, since, last_error: error, next_probe_at: probe }: WebhookEndpointBody,
  failed: readonly WebhookEventBody[],
): Html {
  const [label, className] = ENDPOINTS[state ?? ''] ?? ['Unknown', ''];
  const url = failed.find(({ endpoint }) => endpoint?.origin === origin)?.url;
  // A host that does not answer is replaced as a whole. Of one that answers, only the URL may be wrong.
  const replaced = state === 'not_answering' ? origin : (url ?? origin);
  return html`<li>
    <span class="badge ${className}">${label}</span>
    <div class="facts">
      <p><strong>${origin}</strong> ${since !== null && html`<span class="hint">since ${time(since)}</span>`}</p>
      ${error !== null && html`<p>${error}</p>`} ${url && html`<p>Webhooks fail at ${url}</p>`}
      ${probe !== null && html`<p class="hint">All webhooks to it wait. From ${time(probe)} on, one of them is tried.</p>`}
    </div>
    ${(state !== 'answering' || url) && !visit.session.readOnly && html`<a href="${visit.path}/developers/?replaces=${encodeURIComponent(replaced)}#address">Send elsewhere</a>`}
  </li>`;
}

function tools(visit: Visit, url: string | null, state: WebhookState = 'exhausted'): Html {
  const since = new Date(Date.now() - 7 * DAY_MS).toISOString().slice(0, 10);
  const resend = html`${select('state', 'Resend all that are', state, [
      ['exhausted', 'given up'],
      ['pending', 'waiting'],
      ['disabled', 'not sent'],
    ])}
    ${field({ name: 'since', label: 'Since', type: 'date', value: since, required: true })}
    <div class="inline"><button>Resend</button></div>`;
  const test = html`${field({ name: 'url', label: 'Send a test webhook to', type: 'url', value: url, required: true })}
    <div class="inline"><button class="secondary">Send a test</button></div>`;
  return html`<section aria-labelledby="resend">
    <h2 id="resend">Resend and test</h2>
    ${form(visit, '/webhooks/resend/', resend, 'search')} ${form(visit, '/webhooks/test/', test, 'search')}
  </section>`;
}

const hasFailed = ({ state, attempts, last_error: error }: WebhookEventBody): boolean =>
  state === 'exhausted' || (state === 'pending' && attempts > 0 && error !== null);

function webhookRow(visit: Visit, webhook: WebhookEventBody): Html {
  const { id, reference, sequence, state, attempts, last_error: error, next_attempt_at: next, url } = webhook;
  // What is delivered is resent from its order's page.
  const canResend = webhook.content_deleted_at === null && url !== null && state !== 'delivered';
  const resend = html`<button class="secondary" aria-label="Resend webhook ${sequence} of order ${reference}">
    Resend
  </button>`;
  return html`<li>
    <span class="badge ${state === 'delivered' ? 'good' : hasFailed(webhook) ? 'bad' : ''}">${STATES[state]}</span>
    <div class="facts">
      <p>
        <a href="${visit.path}/orders/${webhook.order_id}/"><strong>${reference}</strong></a
        >, webhook ${sequence} <span class="hint">${time(webhook.created_at)}</span>
      </p>
      ${error !== null && html`<p>${error}</p>`}
      <p class="hint">
        ${attempts === 1 ? '1 attempt' : `${attempts} attempts`}${next !== null && html`, the next one: ${time(next)}`}${url && `, to ${url}`}
      </p>
    </div>
    ${canResend && form(visit, `/webhooks/${id}/resend/`, resend, 'inline')}
  </li>`;
}
