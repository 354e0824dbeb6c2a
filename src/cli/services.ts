import { Readable } from 'node:stream';
import {
  type Environment,
  loadDatabaseConfig,
  loadEncryptionConfig,
  loadPayloadConfig,
  loadWorkflowConfig,
} from '../config';
import { type Db, createPool } from '../db/pool';
import { SchemaError, assertSchemaIsCurrent } from '../db/migrations';
import { type KeyRing, createKeyRing } from '../encryption/key-ring';
import { payloadCodecs } from '../temporal/payload-codec';
import { createTemporalClient, temporalSettings } from '../temporal/connection';
import { type OrderWorkflows, createOrderWorkflows } from '../temporal/order-workflow-client';
import { createAudit } from './audit';
import { TemporalConnectionError, reasonOf } from './cli-error';

const CONNECT_TIMEOUT_MS = 5000;

type TemporalClient = ReturnType<typeof createTemporalClient>;

export type Services = ReturnType<typeof createServices>;

/**
 * Connections for the commands. Each opens on first use, so a command needs only the settings that it uses. If a
 * command has to be recorded in the audit log and could not be, it gets no connection.
 */
export function createServices(env: Environment, input: Readable = Readable.from([])) {
  let db: Db | undefined;
  let client: TemporalClient | undefined;
  // With one connection, `status` would wait for its slowest query, and report Postgres as unavailable.
  const openDb = (): Db => (db ??= createPool(loadDatabaseConfig(env).databaseUrl, 2, () => undefined));
  const audit = createAudit(env, openDb);

  /** @throws TemporalConnectionError, or ConfigError */
  async function temporal(): Promise<TemporalClient> {
    audit.assertRecorded();
    const settings = temporalSettings(env);
    const options = { ...settings.connectionOptions, connectTimeout: CONNECT_TIMEOUT_MS };
    client ??= createTemporalClient({ ...settings, connectionOptions: options }, payloadCodecs(loadPayloadConfig(env)));
    try {
      await client.connection.ensureConnected();
    } catch (error) {
      const address = options.address ?? 'localhost:7233';
      throw new TemporalConnectionError(`Temporal is unavailable at ${address}: ${reasonOf(error)}`);
    }
    return client;
  }

  return {
    env,
    /** The operator's answers to questions. */
    input,
    /** Records the command, if it changes something. */
    audit,
    /** A command that succeeds sets it if what it found needs a person: the exit code is 1. */
    foundTrouble: false,
    db: (): Db => {
      audit.assertRecorded();
      return openDb();
    },
    /** Encrypts secrets in Postgres. @throws ConfigError */
    keys: (): KeyRing => createKeyRing(loadEncryptionConfig(env).encryptionKeys),
    /** @throws SchemaError. A command that needs the database reports a missing setting or a lost connection itself. */
    async checkSchema(): Promise<void> {
      try {
        await assertSchemaIsCurrent(openDb());
      } catch (error) {
        if (error instanceof SchemaError) throw error;
      }
    },
    temporal,
    /** @throws TemporalConnectionError */
    workflows: async (): Promise<OrderWorkflows> => createOrderWorkflows(await temporal(), loadWorkflowConfig(env)),
    async close(): Promise<void> {
      await db?.end();
      await client?.connection.close();
    },
  };
}
