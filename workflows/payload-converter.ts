import { type PayloadConverter, defaultPayloadConverter } from '@temporalio/common';

/**
 * Decodes a payload in an unknown encoding, which people can send from the Temporal UI, as undefined. The SDK's own
 * converter would throw, and the workflow task would fail for ever. As undefined it is refused like any invalid message.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value) => defaultPayloadConverter.toPayload(value),
  fromPayload(payload) {
    try {
      return defaultPayloadConverter.fromPayload(payload);
    } catch {
      return undefined as never;
    }
  },
};
