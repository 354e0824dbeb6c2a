import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
/** Half of it derives the message's own key, half is its nonce: see `keyOf`. */
const NONCE_BYTES = 24;
const TAG_BYTES = 16;
/** Marks an encrypted text. */
const ENCRYPTED_TEXT = /^enc:([\w-]+):([\w-]+)$/;

/** A key of 32 bytes. Its id is stored beside everything that it encrypts. */
export interface EncryptionKey {
  id: string;
  key: Buffer;
}

/**
 * Stands for no encryption in a list of keys: as the first, texts are stored as they are; behind it, such texts are still
 * accepted. Who can write to the database cannot change the list, so that no text without encryption passes otherwise.
 */
export const PLAIN: EncryptionKey = { id: 'plain', key: Buffer.alloc(0) };

interface Ciphertext {
  keyId: string;
  /** Nonce, tag and encrypted bytes. */
  data: Buffer;
}

/** The key is not configured, the text is not encrypted, or the ciphertext was changed or belongs to another context. */
export class DecryptionError extends Error {}

/**
 * Encrypts with the first key, and decrypts with any. The context, such as the owner's id, is authenticated: a
 * ciphertext that was moved to another context cannot be decrypted.
 */
export interface KeyRing {
  /** The id of the first key; undefined if it is `PLAIN` or there are no keys. */
  readonly firstKey: string | undefined;
  /** @throws TypeError if there is no first key */
  encrypt(plain: Uint8Array, context: string): Ciphertext;
  /** @throws DecryptionError */
  decrypt(ciphertext: Ciphertext, context: string): Buffer;
  /** Encrypts a text for a database column. Without a first key, returns it as it is. */
  encryptText(text: string, context: string): string;
  /**
   * Returns the text that `encryptText` was given.
   * @throws DecryptionError
   */
  decryptText(stored: string, context: string): string;
}

/**
 * The key of one message. Random nonces of 96 bits repeat too probably after 2^32 messages with one key, which the
 * payloads of a busy day reach. With a derived key each, 192 random bits would have to repeat (as in XAES-256-GCM).
 */
function keyOf({ key }: EncryptionKey, nonce: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', key, nonce.subarray(0, 12), 'order-service', key.length));
}

/** @param keys the first one encrypts */
export function createKeyRing(keys: readonly EncryptionKey[]): KeyRing {
  const first = keys[0] === PLAIN ? undefined : keys[0];
  const acceptsPlain = keys.length === 0 || keys.includes(PLAIN);

  function encrypt(plain: Uint8Array, context: string): Ciphertext {
    if (!first) throw new TypeError('there are no encryption keys');
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, keyOf(first, nonce), nonce.subarray(12)).setAAD(Buffer.from(context));
    const encrypted = [cipher.update(plain), cipher.final()];
    return { keyId: first.id, data: Buffer.concat([nonce, cipher.getAuthTag(), ...encrypted]) };
  }

  function decrypt({ keyId, data }: Ciphertext, context: string): Buffer {
    const found = keys.find((key) => key.id === keyId && key !== PLAIN);
    if (!found) throw new DecryptionError(`the encryption key "${keyId}" is not configured`);
    const tagEnd = NONCE_BYTES + TAG_BYTES;
    if (data.length < tagEnd) throw new DecryptionError('the ciphertext is incomplete');
    const nonce = data.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(ALGORITHM, keyOf(found, nonce), nonce.subarray(12))
      .setAAD(Buffer.from(context))
      .setAuthTag(data.subarray(NONCE_BYTES, tagEnd));
    try {
      return Buffer.concat([decipher.update(data.subarray(tagEnd)), decipher.final()]);
    } catch {
      throw new DecryptionError(`the ciphertext is not valid for the key "${keyId}" in this place`);
    }
  }

  return {
    firstKey: first?.id,
    encrypt,
    decrypt,
    encryptText(text, context) {
      if (!first) return text;
      const { keyId, data } = encrypt(Buffer.from(text), context);
      return `enc:${keyId}:${data.toString('base64url')}`;
    },
    decryptText(stored, context) {
      const [, keyId, data] = ENCRYPTED_TEXT.exec(stored) ?? [];
      if (keyId === undefined || data === undefined) {
        if (acceptsPlain) return stored;
        throw new DecryptionError('the secret is not encrypted, and ENCRYPTION_KEYS does not contain "plain"');
      }
      return decrypt({ keyId, data: Buffer.from(data, 'base64url') }, context).toString();
    },
  };
}

/** The id of the key with which a text is encrypted; undefined if it is not encrypted. */
export function keyIdOf(stored: string): string | undefined {
  return ENCRYPTED_TEXT.exec(stored)?.[1];
}

const KEY_BYTES = 32;
const ENTRY = /^([A-Za-z0-9_-]{1,40}):([A-Za-z0-9+/]{43}=)$/;

/**
 * Parses `id:key` pairs and `plain`, separated by commas; a key is 32 bytes in Base64.
 * @returns undefined if the text is not valid, or an id is repeated
 */
export function parseKeys(text: string): EncryptionKey[] | undefined {
  const keys = text.split(',').map((entry) => {
    if (entry.trim() === PLAIN.id) return PLAIN;
    const [, id = '', key = ''] = ENTRY.exec(entry.trim()) ?? [];
    return { id, key: Buffer.from(key, 'base64') };
  });
  const isValid = keys.every((key) => key === PLAIN || key.key.length === KEY_BYTES);
  return isValid && new Set(keys.map(({ id }) => id)).size === keys.length ? keys : undefined;
}
