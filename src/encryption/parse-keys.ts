import type { EncryptionKey } from './key-ring';

const KEY_BYTES = 32;
const ENTRY = /^([A-Za-z0-9_-]{1,40}):([A-Za-z0-9+/]{43}=)$/;

/**
 * Parses `id:key` pairs, separated by commas; a key is 32 bytes in Base64.
 * @returns undefined if the text is not valid, or an id is repeated
 */
export function parseKeys(text: string): EncryptionKey[] | undefined {
  const keys = text.split(',').map((entry) => {
    const [, id = '', key = ''] = ENTRY.exec(entry.trim()) ?? [];
    return { id, key: Buffer.from(key, 'base64') };
  });
  const isValid = keys.every(({ key }) => key.length === KEY_BYTES);
  return isValid && new Set(keys.map(({ id }) => id)).size === keys.length ? keys : undefined;
}
