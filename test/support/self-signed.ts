import { generateKeyPairSync, sign } from 'node:crypto';

/** Encodes one DER element: tag, length, content. */
function der(tag: number, ...content: (Buffer | string | number[])[]): Buffer {
  const body = Buffer.concat(content.map((part) => Buffer.from(part as Buffer)));
  const length = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

const sequence = (...content: Buffer[]) => der(0x30, ...content);
const ECDSA_WITH_SHA256 = sequence(der(0x06, [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]));
const utcTime = (date: Date) => der(0x17, date.toISOString().replace(/^..|[-T:]|\.\d+Z/g, '') + 'Z');

/** Creates a self-signed certificate for one DNS name, so that the tests need neither openssl nor a key in git. */
export function selfSigned(name: string, { expired = false } = {}): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const day = 24 * 60 * 60 * 1000;
  const now = Date.now();
  const subject = sequence(der(0x31, sequence(der(0x06, [0x55, 0x04, 0x03]), der(0x0c, name))));
  const altNames = der(0x04, sequence(der(0x82, name)));
  const toBeSigned = sequence(
    der(0xa0, der(0x02, [2])),
    der(0x02, [1]),
    ECDSA_WITH_SHA256,
    subject,
    sequence(utcTime(new Date(now - 2 * day)), utcTime(new Date(now + (expired ? -day : day)))),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(der(0x06, [0x55, 0x1d, 0x11]), altNames))),
  );
  const signature = der(0x03, [0], sign('sha256', toBeSigned, privateKey));
  const base64 = sequence(toBeSigned, ECDSA_WITH_SHA256, signature).toString('base64');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  };
}
