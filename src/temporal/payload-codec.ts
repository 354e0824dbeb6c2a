import type { Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { type EncryptionKey, type KeyRing, createKeyRing } from '../encryption/key-ring';
import { z } from 'zod';

const ENCODING_KEY = 'encoding';
const ENCODING = Buffer.from('binary/encrypted');
const KEY_ID = 'encryption-key-id';
const CONTEXT = 'temporal-payload';

const { Payload: Proto, Payloads } = temporal.api.common.v1;

interface PayloadEncryption {
  encryptionKeys: readonly EncryptionKey[];
  encryptPayloads: boolean;
}

/**
 * Encrypts everything that Temporal stores about orders, except search attributes and failure messages. Without keys,
 * payloads are stored as they are. With keys, those that were encrypted can be read after encryption was turned off.
 */
export function payloadCodecs({ encryptionKeys, encryptPayloads }: PayloadEncryption): PayloadCodec[] {
  if (encryptionKeys.length === 0) return [];
  const keys = createKeyRing(encryptionKeys);
  const encode = (payloads: Payload[]) =>
    Promise.resolve(encryptPayloads ? payloads.map((payload) => encrypt(keys, payload)) : payloads);
  // eslint-disable-next-line @typescript-eslint/require-await -- a codec rejects, it does not throw
  const decode = async (payloads: Payload[]) => payloads.map((payload) => decrypt(keys, payload));
  return [{ encode, decode }];
}

function encrypt(keys: KeyRing, payload: Payload): Payload {
  const { keyId, data } = keys.encrypt(Proto.encode(payload).finish(), CONTEXT);
  return { metadata: { [ENCODING_KEY]: ENCODING, [KEY_ID]: Buffer.from(keyId) }, data };
}

/** @throws DecryptionError */
function decrypt(keys: KeyRing, payload: Payload): Payload {
  const { metadata, data } = payload;
  if (!metadata || !ENCODING.equals(metadata[ENCODING_KEY] ?? Buffer.alloc(0))) return payload;
  const keyId = Buffer.from(metadata[KEY_ID] ?? []).toString();
  return Proto.decode(keys.decrypt({ keyId, data: Buffer.from(data ?? []) }, CONTEXT));
}

/** More than a page of a history has. */
const MAX_PAYLOADS = 10_000;
/** The metadata of a payload has two or three keys. */
const MAX_KEYS = 100;

const metadataSchema = z
  .custom<Record<string, string>>((value) => value instanceof Object && Object.keys(value).length <= MAX_KEYS)
  .pipe(z.record(z.string(), z.string()));

/**
 * Bytes are Base64 strings, so that a body never needs more memory than it has characters: of `{"length": 200000000}`,
 * protobuf would make an array of that length. Protobuf checks the Base64.
 */
const bodySchema = z.object({
  payloads: z
    .array(z.object({ metadata: metadataSchema.optional(), data: z.string().optional() }))
    .max(MAX_PAYLOADS)
    .default([]),
});

/**
 * Converts a body of Temporal's protocol for remote codecs. Rejects if the body or a payload is not valid.
 * @see https://docs.temporal.io/production-deployment/data-encryption#codec-server-setup
 */
export async function convertBody(codec: PayloadCodec, action: 'encode' | 'decode', body: unknown): Promise<object> {
  const { payloads } = Payloads.fromObject(bodySchema.parse(body));
  return Payloads.create({ payloads: await codec[action](payloads) }).toJSON();
}
