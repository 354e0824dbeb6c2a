import { z } from 'zod';
import { CONSTANTS } from './config/constants';
import { configSchema, payloadSchema, settings, toAddressPolicy } from './config/schema';

const databaseSchema = settings.pick({ production: true, logLevel: true, databaseUrl: true });
const workflowSchema = settings.pick({ updateTimeoutMs: true, encryptPayloads: true });
const webhookSchema = settings.pick({ production: true, addressPolicy: true });
const encryptionSchema = settings.pick({ encryptionKeys: true });
const codecServerSchema = settings.pick({
  logLevel: true,
  host: true,
  http: true,
  shutdownGraceMs: true,
  encryptionKeys: true,
  codecServerPort: true,
  codecServerOrigin: true,
});
const checkoutSchema = settings.pick({ checkoutBaseUrl: true });
const portalSchema = settings.pick({ api: true, checkoutBaseUrl: true });
const hostedCheckoutSchema = settings.pick({ hostedCheckout: true });

export type Config = z.infer<typeof configSchema>;

/** Names every setting that is missing or invalid, never its value, which may be a secret. */
export class ConfigError extends Error {}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * All settings of the service. `@temporalio/envconfig` reads Temporal's.
 * @throws ConfigError
 */
export const loadConfig = (env: Environment) => load(configSchema, env);

// Loaders for a part ignore all other settings.
export const loadDatabaseConfig = (env: Environment) => load(databaseSchema, env);
export const loadWorkflowConfig = (env: Environment) => ({
  startTimeoutMs: CONSTANTS.startTimeoutMs,
  ...load(workflowSchema, env),
});
export const loadEncryptionConfig = (env: Environment) => load(encryptionSchema, env);
export const loadPayloadConfig = (env: Environment) => load(payloadSchema, env);
export function loadCodecServerConfig(env: Environment) {
  const config = load(codecServerSchema, env);
  return { ...config, http: { ...CONSTANTS.http, ...config.http } };
}
export const loadPortalConfig = (env: Environment) => load(portalSchema, env);
export const loadHostedCheckoutConfig = (env: Environment) => load(hostedCheckoutSchema, env);
export function loadAddressPolicy(env: Environment) {
  const { production, addressPolicy } = load(webhookSchema, env);
  return toAddressPolicy(production, addressPolicy.allowPrivate);
}
export const loadCheckoutBaseUrl = (env: Environment) => load(checkoutSchema, env).checkoutBaseUrl;

function load<T extends z.ZodType>(schema: T, env: Environment): z.infer<T> {
  const { data, error } = schema.safeParse(nest(settings, env), { reportInput: true });
  if (!error) return data;
  const lines = error.issues.map(({ path, message, input }) =>
    input === undefined ? `${nameAt(path)} is missing` : `${nameAt(path)} ${message}`,
  );
  throw new ConfigError(['Invalid configuration:', ...new Set(lines)].join('\n  '));
}

type Group = z.ZodObject<z.ZodRawShape>;

/** The environment in the shape of the schema. An empty variable counts as unset, as in `PORT= npm start`. */
function nest({ shape }: Group, env: Environment): object {
  const entries = Object.entries(shape).map(([key, child]): [string, unknown] => [
    key,
    child instanceof z.ZodObject ? nest(child as Group, env) : env[nameOf(child)] || undefined,
  ]);
  return Object.fromEntries(entries);
}

const nameAt = (path: readonly PropertyKey[]): string =>
  nameOf(path.reduce<z.core.$ZodType>((node, key) => (node as Group).shape[String(key)] ?? node, settings));

const nameOf = (schema: z.core.$ZodType): string => String(z.globalRegistry.get(schema)?.env);
