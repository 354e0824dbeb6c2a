import type { Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { type EncryptionKey, type KeyRing, createKeyRing } from '../encryption/key-ring';

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
