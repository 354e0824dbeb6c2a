import { z } from 'zod';
import { type EncryptionKey, parseKeys } from '../encryption/key-ring';
import { flag, port, setting } from './setting';

const keys = z
  .string()
  .default('')
  .transform((text, context): EncryptionKey[] => {
    const parsed = text === '' ? [] : parseKeys(text);
    if (parsed) return parsed;
    context.addIssue('must be id:key pairs, separated by commas, where a key is 32 bytes in Base64');
    return z.NEVER;
  });

export const encryptionSettings = {
  encryptionKeys: setting(
    'ENCRYPTION_KEYS',
    keys,
    'AES-256 keys as `id:key` pairs, separated by commas; `npm run cli -- encryption new-key` prints one. The first ' +
      'encrypts webhook secrets and the secret of the checkout in Postgres. The others only decrypt. If empty, secrets ' +
      'are stored as they are.',
  ),
  encryptPayloads: setting(
    'ENCRYPT_PAYLOADS',
    flag(),
    "Encrypts what Temporal stores about orders, with the same keys. Temporal's UI shows it through the codec server.",
  ),
  codecServerPort: setting('CODEC_SERVER_PORT', port().default(3002), 'Port of the codec server.'),
  codecServerOrigin: setting(
    'CODEC_SERVER_ORIGIN',
    z
      .url({ protocol: /^https?$/, error: 'must be an http(s) URL' })
      .transform((url) => new URL(url).origin)
      .optional(),
    "URL of Temporal's UI. The codec server answers browsers for no other page.",
  ),
};
