import { type PayloadConverter, defaultPayloadConverter } from '@temporalio/common';

/**
 * Decodes a payload in an unknown encoding, which people can send from the Temporal UI, as undefined. The handlers
 * refuse undefined like any invalid message. The SDK's own converter throws, and the workflow task would fail forever.
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
