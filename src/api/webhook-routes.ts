import Router from '@koa/router';
import {
  DEFAULT_OVERLAP_SECONDS,
  rotateSecretRequestSchema,
  timelineQuerySchema,
  webhookListQuerySchema,
  webhookTestRequestSchema,
} from '../contracts/webhook-request-schemas';
import type { OrderDependencies } from '../orders/dependencies';
import { rotateSecret, testWebhook } from '../orders/webhook-endpoint';
import { listWebhooks, resendWebhook, retrieveTimeline } from '../orders/webhook-log';
import { type Authenticate, sellerOf } from './authenticate';
import { type BodyReaders, hasBody, validate, validateQuery } from './body';
import type { State } from './context';
import { orderIdOf } from './order-routes';
import { sendListPage } from './send-list-page';

/** A seller's webhooks: the log, resends, the signing secret and test deliveries. */
export function webhookRoutes(
  basePath: string,
  deps: OrderDependencies,
  authenticate: Authenticate,
  { jsonBody, optionalJsonBody }: BodyReaders,
): Router<State> {
  const router = new Router<State>({ prefix: basePath });
  const seller = authenticate('seller');
  const testSchema = webhookTestRequestSchema(deps.rules);

  router.get('/seller/:sellerId/webhook_event', seller, async (ctx) => {
    const { id } = sellerOf(ctx);
    sendListPage(ctx, await listWebhooks(deps, id, validateQuery(webhookListQuerySchema, ctx.query)));
  });
  router.get('/order/:orderId/timeline', seller, async (ctx) => {
    const query = validateQuery(timelineQuerySchema, ctx.query);
    sendListPage(ctx, await retrieveTimeline(deps, orderIdOf(ctx), sellerOf(ctx).id, query));
  });
  router.post('/webhook_event/:eventId/resend', seller, async (ctx) => {
    const webhook = await resendWebhook(deps, (ctx.params.eventId ?? '').toLowerCase(), sellerOf(ctx).id);
    ctx.state.orderId = webhook.order_id;
    // The workflow sends the webhook later; the timeline reports the result.
    ctx.status = 202;
    ctx.body = { data: webhook };
  });
  router.post('/seller/:sellerId/webhook_secret/rotate', seller, optionalJsonBody, async (ctx) => {
    const { id } = sellerOf(ctx);
    const { data } = validate(rotateSecretRequestSchema, hasBody(ctx) ? ctx.request.body : { data: {} });
    ctx.body = { data: await rotateSecret(deps.db, id, data.overlap_seconds ?? DEFAULT_OVERLAP_SECONDS) };
  });
  router.post('/seller/:sellerId/webhook_test', seller, jsonBody, async (ctx) => {
    const { id } = sellerOf(ctx);
    const { data } = validate(testSchema, ctx.request.body);
    ctx.body = { data: await testWebhook(deps, id, data.url) };
  });
  return router;
}
