import { z } from 'zod';
import { CONSTANTS } from './constants';
import { httpSettings, rateLimitSettings } from './http-settings';
import { encryptionSettings, databaseSettings, mailSettings, processSettings } from './process-settings';
import { checkoutSettings, orderSettings, retentionSettings, workflowSettings } from './order-settings';
import { createKeyRing } from '../encryption/key-ring';
import { isSafe } from './setting';
import { webhookSettings } from './webhook-settings';

/** The sections of docs/operators/settings.md. */
export const SETTING_GROUPS = {
  Process: z.object(processSettings),
  Postgres: z.object(databaseSettings),
  Encryption: z.object(encryptionSettings),
  HTTP: z.object(httpSettings),
  'Rate limits': z.object(rateLimitSettings),
  Checkout: z.object(checkoutSettings),
  Mail: z.object(mailSettings),
  Orders: z.object(orderSettings),
  Workflows: z.object(workflowSettings),
  Webhooks: z.object(webhookSettings),
  Retention: z.object(retentionSettings),
};

/** Every setting, nested as the code uses it. Each leaf names its environment variable. */
export const settings = z.object({
  ...processSettings,
  ...databaseSettings,
  ...encryptionSettings,
  ...httpSettings,
  ...rateLimitSettings,
  ...checkoutSettings,
  ...mailSettings,
  ...orderSettings,
  ...workflowSettings,
  ...webhookSettings,
  ...retentionSettings,
});

const MUST_BE_HTTPS = 'must use https, except on this machine, unless NODE_ENV=development';
const NEEDS_KEYS = { path: ['encryptPayloads'], error: 'needs ENCRYPTION_KEYS' };

/** How a client of Temporal encrypts payloads. */
export const payloadSchema = settings
  .pick({ encryptionKeys: true, encryptPayloads: true })
  .refine(canEncryptPayloads, NEEDS_KEYS);

export const configSchema = settings
  .refine(
    ({ production, addressPolicy }) =>
      // It can be an invalid value here, which is reported elsewhere.
      !production || (addressPolicy.allowPrivate as unknown) !== true || addressPolicy.allowPrivateInProduction,
    {
      path: ['addressPolicy', 'allowPrivate'],
      error:
        'gives sellers access to this network. In production, set WEBHOOK_ALLOW_PRIVATE_IN_PRODUCTION=true as well',
      // Reports it together with the other invalid settings.
      when: () => true,
    },
  )
  .refine(canEncryptPayloads, NEEDS_KEYS)
  .refine(({ workerQueues, hostedCheckout }) => hostedCheckout.enabled || workerQueues.join() !== 'checkout', {
    path: ['workerQueues'],
    error: 'is only checkout, but there is no hosted checkout: set HOSTED_CHECKOUT=true',
  })
  .refine(({ production, checkoutBaseUrl }) => !production || isSafe(checkoutBaseUrl), {
    path: ['checkoutBaseUrl'],
    error: MUST_BE_HTTPS,
  })
  .refine(({ production, api }) => !production || !api.publicUrl || isSafe(api.publicUrl), {
    path: ['api', 'publicUrl'],
    error: MUST_BE_HTTPS,
  })
  .transform(({ addressPolicy: { allowPrivate }, http, quotas, rateLimits, webhookSchedule, ...config }) => {
    const { quotaBytes, ...constants } = CONSTANTS;
    return {
      ...constants,
      ...config,
      http: { ...constants.http, ...http },
      quotas: {
        live: { ...quotas.live, bytes: quotaBytes.live },
        sandbox: { ...quotas.sandbox, bytes: quotaBytes.sandbox },
      },
      rateLimits: { ...constants.rateLimits, ...rateLimits },
      webhookSchedule: { ...constants.webhookSchedule, ...webhookSchedule },
      addressPolicy: toAddressPolicy(config.production, allowPrivate),
    };
  });

export const toAddressPolicy = (production: boolean, allowPrivate: boolean) => ({
  allowPrivate,
  allowHttp: !production || allowPrivate,
});

type PayloadSettings = Pick<z.infer<typeof settings>, 'encryptPayloads' | 'encryptionKeys'>;

function canEncryptPayloads({ encryptPayloads, encryptionKeys }: PayloadSettings): boolean {
  return !encryptPayloads || createKeyRing(encryptionKeys).firstKey !== undefined;
}
