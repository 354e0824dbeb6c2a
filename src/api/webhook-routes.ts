import Router from '@koa/router';
import {
  accountAddressRequestSchema,
  DEFAULT_OVERLAP_SECONDS,
  resendWebhooksRequestSchema,
  rotateSecretRequestSchema,
  webhookHeadersRequestSchema,
  webhookListQuerySchema,
  webhookTestRequestSchema,
} from '../contracts/webhook-request-schemas';
import { portalSessionRequestSchema } from '../contracts/portal-schemas';
import type { OrderDependencies } from '../orders/dependencies';
import { createPortalLink } from '../orders/portal-sessions';
import {
  retrieveWebhookEndpoint,
  rotateSecret,
  setWebhookEndpoint,
  setWebhookHeaders,
  testWebhook,
} from '../orders/webhook-endpoint';
import { listWebhooks, resendWebhook, resendWebhooks, retrieveWebhook } from '../orders/webhooks';
import { type Authenticate, listCost, sellerOf } from './authenticate';
import { type BodyReaders, dataOf, validateQuery } from './input';
import { type RouteMiddleware, type State } from './context';
import { idOf } from './paths';

/** Of calls that start a workflow: a test, which can take as long as a delivery attempt, and a resend of many. */
const WORKFLOW_COST = 20;

/** A seller's webhooks: the list, resends, the webhook secret and test deliveries. */
export function webhookRoutes(
  basePath: string,
  deps: OrderDependencies,
  authenticate: Authenticate,
  { jsonBody, optionalJsonBody }: BodyReaders,
  { limitLists, limitLocks, limitTests }: Record<'limitLists' | 'limitLocks' | 'limitTests', RouteMiddleware>,
): Router<State> {
  const router = new Router<State>({ prefix: basePath, sensitive: true });
  const seller = authenticate('seller');
  const lister = authenticate('seller', listCost);
  const starter = authenticate('seller', () => WORKFLOW_COST);
  const testSchema = webhookTestRequestSchema(deps.rules);
  const headersSchema = webhookHeadersRequestSchema(deps.rules);
  const addressSchema = accountAddressRequestSchema(deps.rules);

  router.get('/seller/:sellerId/webhook_event', lister, limitLists, async (ctx) => {
    const { id } = sellerOf(ctx);
    ctx.body = await listWebhooks(deps, id, validateQuery(webhookListQuerySchema, ctx.query));
  });
  router.get('/webhook_event/:webhookId', seller, async (ctx) => {
    ctx.body = { data: await retrieveWebhook(deps, idOf(ctx, 'webhookId'), sellerOf(ctx).id) };
  });
  router.post('/webhook_event/:webhookId/resend', seller, limitLocks, async (ctx) => {
    const webhook = await resendWebhook(deps, idOf(ctx, 'webhookId'), sellerOf(ctx).id);
    ctx.state.orderId = webhook.order_id;
    // The workflow sends the webhook later; the timeline reports the result.
    ctx.status = 202;
    ctx.body = { data: webhook };
  });
  router.post('/seller/:sellerId/webhook_event/resend', starter, jsonBody, async (ctx) => {
    ctx.status = 202;
    ctx.body = { data: await resendWebhooks(deps, sellerOf(ctx).id, dataOf(ctx, resendWebhooksRequestSchema)) };
  });
  router.post('/seller/:sellerId/webhook_secret/rotate', seller, optionalJsonBody, limitLocks, async (ctx) => {
    const { id } = sellerOf(ctx);
    const { overlap_seconds: overlap = DEFAULT_OVERLAP_SECONDS } = dataOf(ctx, rotateSecretRequestSchema);
    ctx.body = { data: await rotateSecret(deps, id, overlap) };
  });
  router.put('/seller/:sellerId/webhook_headers', seller, jsonBody, limitLocks, async (ctx) => {
    ctx.body = { data: await setWebhookHeaders(deps, sellerOf(ctx).id, dataOf(ctx, headersSchema)) };
  });
  router.get('/seller/:sellerId/webhook_endpoint', seller, limitLists, async (ctx) => {
    ctx.body = { data: await retrieveWebhookEndpoint(deps, sellerOf(ctx).id) };
  });
  router.put('/seller/:sellerId/webhook_endpoint', seller, jsonBody, limitLocks, async (ctx) => {
    ctx.body = { data: await setWebhookEndpoint(deps, sellerOf(ctx).id, dataOf(ctx, addressSchema)) };
  });
  router.post('/seller/:sellerId/portal_session', seller, optionalJsonBody, async (ctx) => {
    const { id } = sellerOf(ctx);
    const data = dataOf(ctx, portalSessionRequestSchema);
    ctx.status = 201;
    ctx.body = { data: await createPortalLink(deps, id, ctx.state.apiKey ?? null, data) };
  });
  router.post('/seller/:sellerId/webhook_test', starter, jsonBody, limitTests, async (ctx) => {
    ctx.body = { data: await testWebhook(deps, sellerOf(ctx).id, dataOf(ctx, testSchema).url) };
  });
  return router;
}
