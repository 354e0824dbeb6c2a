import type { PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { z } from 'zod';

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
