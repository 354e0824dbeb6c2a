import type { PayloadConverter } from '@temporalio/common';
import { defaultPayloadConverter } from '@temporalio/common';

/**
 * What people send from the Temporal UI may be in an encoding that nobody here reads. The SDK would fail the workflow
 * task on it, for ever; read as nothing, it is refused like any other odd message.
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
