import type { PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';

const { Payloads } = temporal.api.common.v1;

type Action = 'encode' | 'decode';

/** Converts a body of Temporal's protocol for remote codecs. Rejects if the body or a payload is not valid. */
type RemoteCodec = Record<Action, (body: unknown) => Promise<object>>;

/** https://docs.temporal.io/production-deployment/data-encryption#codec-server-setup */
export function createRemoteCodec(codec: PayloadCodec): RemoteCodec {
  const convert = (action: Action) => async (body: unknown) => {
    const { payloads } = Payloads.fromObject(body as object);
    return Payloads.create({ payloads: await codec[action](payloads) }).toJSON();
  };
  return { encode: convert('encode'), decode: convert('decode') };
}
