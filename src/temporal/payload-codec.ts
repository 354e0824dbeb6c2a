import type { Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { type EncryptionKey, type KeyRing, createKeyRing } from '../encryption/key-ring';
import { z } from 'zod';

const ENCODING_KEY = 'encoding';
const ENCODING = Buffer.from('binary/encrypted');
const KEY_ID = 'encryption-key-id';
const CONTEXT = 'temporal-payload';

const { Payload: Proto } = temporal.api.common.v1;

interface PayloadEncryption {
  encryptionKeys: readonly EncryptionKey[];
  encryptPayloads: boolean;
}

/** Without keys, payloads are stored as they are. */
export function payloadCodecs({ encryptionKeys, encryptPayloads }: PayloadEncryption): PayloadCodec[] {
  if (encryptionKeys.length === 0) return [];
  return [createPayloadCodec(createKeyRing(encryptionKeys), encryptPayloads)];
}

/**
 * Encrypts everything that Temporal stores about orders, except search attributes and failure messages.
 * @param encrypts false only decrypts, for the time after encryption was turned off
 */
function createPayloadCodec(keys: KeyRing, encrypts: boolean): PayloadCodec {
  return {
    encode: (payloads) => Promise.resolve(encrypts ? payloads.map((payload) => encrypt(keys, payload)) : payloads),
    // eslint-disable-next-line @typescript-eslint/require-await -- a codec rejects, it does not throw
    decode: async (payloads) => payloads.map((payload) => decrypt(keys, payload)),
  };
}

function encrypt(keys: KeyRing, payload: Payload): Payload {
  const { keyId, data } = keys.encrypt(Proto.encode(payload).finish(), CONTEXT);
  return { metadata: { [ENCODING_KEY]: ENCODING, [KEY_ID]: Buffer.from(keyId) }, data };
}

/** @throws DecryptionError */
function decrypt(keys: KeyRing, payload: Payload): Payload {
  const { metadata, data } = payload;
  if (!metadata || !isEncrypted(metadata)) return payload;
  const keyId = Buffer.from(metadata[KEY_ID] ?? []).toString();
  return Proto.decode(keys.decrypt({ keyId, data: Buffer.from(data ?? []) }, CONTEXT));
}

function isEncrypted(metadata: NonNullable<Payload['metadata']>): boolean {
  return ENCODING.equals(metadata[ENCODING_KEY] ?? Buffer.alloc(0));
}

const { Payloads } = temporal.api.common.v1;

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

type Action = 'encode' | 'decode';

/** Converts a body of Temporal's protocol for remote codecs. Rejects if the body or a payload is not valid. */
type RemoteCodec = Record<Action, (body: unknown) => Promise<object>>;

/** https://docs.temporal.io/production-deployment/data-encryption#codec-server-setup */
export function createRemoteCodec(codec: PayloadCodec): RemoteCodec {
  const convert = (action: Action) => async (body: unknown) => {
    const { payloads } = Payloads.fromObject(bodySchema.parse(body));
    return Payloads.create({ payloads: await codec[action](payloads) }).toJSON();
  };
  return { encode: convert('encode'), decode: convert('decode') };
}
