import { z } from 'zod';
import { printableText } from '../contracts/fields';
import {
  DEFAULT_OVERLAP_SECONDS,
  accountAddressRequestSchema,
  webhookHeadersRequestSchema,
} from '../contracts/webhook-request-schemas';
import { validate } from '../contracts/field-errors';
import { Problem } from '../contracts/problem';
import { type Html, html } from '../html/html';
import { type ListedKey, createApiKey, listApiKeys, revokeApiKey } from '../orders/api-keys';
import type { OrderDependencies } from '../orders/dependencies';
import {
  retrieveWebhookEndpoint,
  retrieveWebhookHeaders,
  rotateSecret,
  setWebhookEndpoint,
  setWebhookHeaders,
} from '../orders/webhook-endpoint';
import type { PortalPage, Routes, Visit } from './context';
import { field, form, select, time } from './layout';

const newKeySchema = z.object({ label: printableText(100) });

/** API keys, the webhook secret, static headers and the account's webhook address. */
export function developerPages({ page, action }: Routes, deps: OrderDependencies): void {
  const addressSchema = accountAddressRequestSchema(deps.rules);
  const headersSchema = webhookHeadersRequestSchema(deps.rules);

  page('/developers', async (visit, ctx) => {
    const { id } = visit.session.seller;
    const keys = await listApiKeys(deps, id);
    const address = await retrieveWebhookEndpoint(deps, id);
    const headers = await retrieveWebhookHeaders(deps, id);
    const added = typeof ctx.query.replaces === 'string' ? [ctx.query.replaces] : [];
    return {
      title: 'Developers',
      content: html`<p>Seller ID: <code>${id}</code></p>
        <section aria-labelledby="keys">
          <h2 id="keys">API keys</h2>
          <ul class="rows">
            ${keys.map((key) => keyRow(visit, key))}
          </ul>
          ${form(visit, '/developers/keys/', KEY_FIELDS)}
        </section>
        <section aria-labelledby="address">
          <h2 id="address">Webhook address</h2>
          ${
            form(
              visit,
              '/developers/address/',
              addressFields(address.url, [...new Set([...address.replaces, ...added])]),
            ) || html`<p>${address.url ?? 'None'}</p>`
          }
        </section>
        <section aria-labelledby="secret">
          <h2 id="secret">Webhook secret</h2>
          <p>It signs your webhooks. The new one is shown once.</p>
          ${form(visit, '/developers/secret/', SECRET_FIELDS)}
        </section>
        <section aria-labelledby="static-headers">
          <h2 id="static-headers">Static headers</h2>
          <p>
            ${
              headers === undefined || headers.names.length === 0
                ? 'Your webhooks have none.'
                : `Webhooks to ${headers.origin} have: ${headers.names.join(', ')}. The values are not shown.`
            }
          </p>
          ${form(visit, '/developers/headers/', headerFields(headers?.origin ?? ''))}
        </section>`,
    };
  });

  action('/developers/keys', 'key create', ['label'], async (visit, { label }) => {
    const key = await createApiKey(deps, visit.session.seller.id, validate(newKeySchema, { label }).label);
    return shownOnce(visit, 'Your new API key', key, 'Put it into your shop before you revoke another one.');
  });

  page('/developers/keys/:keyId/revoke', async (visit, ctx) => {
    const key = (await listApiKeys(deps, visit.session.seller.id)).find(({ id }) => String(id) === ctx.params.keyId);
    if (!key) throw new Problem('not_found');
    return {
      title: `Revoke the key ${key.startsWith}…?`,
      content: html`<p>
          ${key.label ?? 'It has no label'}. Programs that use it are refused from then on, and sessions of this page
          that were opened with it end, perhaps your own. This cannot be undone.
        </p>
        ${form(visit, `/developers/keys/${key.id}/revoke/`, html`<button class="danger">Revoke the key</button> <a href="${visit.path}/developers/">Keep it</a>`, 'inline')}`,
    };
  });

  action('/developers/keys/:keyId/revoke', 'key revoke', [], async (visit, _fields, ctx) => {
    const id = /^\d{1,15}$/.test(ctx.params.keyId ?? '') ? Number(ctx.params.keyId) : 0;
    await revokeApiKey(deps, visit.session.seller.id, id);
    // The session may have ended with it, so that no other page could say so.
    return {
      title: 'The API key is revoked',
      content: html`<p>It stops working within a second. <a href="${visit.path}/developers/">Back</a></p>`,
    };
  });

  action('/developers/address', 'webhook-endpoint set', ['url', 'replaces'], async (visit, { url = '', replaces }) => {
    const { data } = validate(addressSchema, { data: { url: url.trim() || null, replaces: linesOf(replaces) } });
    await setWebhookEndpoint(deps, visit.session.seller.id, data);
    return '/webhooks/?state=pending&done=address';
  });

  action('/developers/secret', 'webhook-secret rotate', ['overlap'], async (visit, { overlap }) => {
    const rotated = await rotateSecret(deps, visit.session.seller.id, overlap === '0' ? 0 : DEFAULT_OVERLAP_SECONDS);
    const until = rotated.previous_valid_until;
    const note = until === null ? 'Older secrets have ended.' : html`Older secrets sign too until ${time(until)}.`;
    return shownOnce(visit, 'Your new webhook secret', rotated.webhook_secret, note);
  });

  action('/developers/headers', 'webhook-headers set', ['origin'], async ({ session }, { origin = '', headers }) => {
    const given = linesOf(headers).map((line) => {
      const [, name = line, value = ''] = /^([^:]*):(.*)$/.exec(line) ?? [];
      return { name: name.trim(), value: value.trim() };
    });
    const { data } = validate(headersSchema, { data: { origin: origin.trim(), headers: given } });
    await setWebhookHeaders(deps, session.seller.id, data);
    return '/developers/?done=headers';
  });
}

/** The lines of a text area that are not empty. */
const linesOf = (text = ''): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

function keyRow(visit: Visit, { id, startsWith, label, createdAt, lastUsedAt }: ListedKey): Html {
  const used = lastUsedAt === null ? 'never used' : html`last used in the hour from ${time(lastUsedAt.toISOString())}`;
  return html`<li>
    <div class="facts">
      <p><strong>${label ?? 'No label'}</strong> <code>${startsWith}…</code></p>
      <p class="hint">created ${time(createdAt.toISOString())}, ${used}</p>
    </div>
    ${!visit.session.readOnly && html`<a href="${visit.path}/developers/keys/${id}/revoke/">Revoke<span class="visually-hidden"> ${startsWith}…</span></a>`}
  </li>`;
}

function shownOnce(visit: Visit, title: string, secret: string, note: Html | string = ''): PortalPage {
  return {
    title,
    content: html`<p>Copy it now: it is not shown again.</p>
      <pre>${secret}</pre>
      <p>${note}</p>
      <p><a href="${visit.path}/developers/">Back</a></p>`,
  };
}

const KEY_FIELDS = html`${field({
    name: 'label',
    label: 'What the new key is for',
    hint: 'Such as “web shop”.',
    required: true,
  })} <button>Create a key</button>`;

const addressFields = (url: string | null, replaces: readonly string[]): Html =>
  html`${field({
      name: 'url',
      label: 'Address for orders that name none',
      hint: 'Empty: their webhooks are not sent.',
      type: 'url',
      value: url,
    })}
    ${field({
      name: 'replaces',
      label: 'Addresses that it replaces',
      hint:
        'One in each line: a whole address, or an origin such as https://old-shop.example. Webhooks of existing orders ' +
        'go to the address above too.',
      type: 'lines',
      value: replaces.join('\n'),
    })} <button>Save</button>`;

const SECRET_FIELDS = html`${select('overlap', 'Older secrets sign', '', [
    ['86400', 'for another 24 hours'],
    ['0', 'no longer: one has leaked'],
  ])} <button class="secondary">Rotate the secret</button>`;

const headerFields = (origin: string): Html =>
  html`${field({ name: 'origin', label: 'Origin of your gateway', type: 'url', value: origin, required: true })}
    ${field({
      name: 'headers',
      label: 'Headers',
      hint: 'One in each line, as in “Authorization: Bearer …”. They replace all earlier ones. Empty: none.',
      type: 'lines',
    })} <button class="secondary">Save the headers</button>`;
