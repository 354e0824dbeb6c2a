import { defaultPayloadConverter } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { REQUEST_CONTEXT_HEADER, type RequestContext } from '../src/domain/request-context';
import { requestContextFields, withRequestContext } from '../src/telemetry/current-request-context';

/** Runs an activity in the request context that the workflow has passed on, and adds it to the activity's log lines. */
export const receiveRequestContext: ActivityInterceptorsFactory = () => ({
  inbound: {
    execute(input, next) {
      const { [REQUEST_CONTEXT_HEADER]: payload } = input.headers;
      const request = payload && defaultPayloadConverter.fromPayload<RequestContext>(payload);
      return withRequestContext(request, () => next(input));
    },
  },
  outbound: {
    getLogAttributes: (input, next) => next({ ...input, ...requestContextFields() }),
  },
});
