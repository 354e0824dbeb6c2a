import type { WorkflowClientInterceptor } from '@temporalio/client';
import { type Headers, defaultPayloadConverter } from '@temporalio/common';
import { REQUEST_CONTEXT_HEADER } from '../domain/request-context';
import { currentRequestContext } from '../telemetry/current-request-context';

/** Passes the current request context to workflows with each update and signal. */
export const sendRequestContext: WorkflowClientInterceptor = {
  startUpdate: (input, next) => next({ ...input, headers: withRequestHeader(input.headers) }),
  startUpdateWithStart: (input, next) => next({ ...input, updateHeaders: withRequestHeader(input.updateHeaders) }),
  signal: (input, next) => next({ ...input, headers: withRequestHeader(input.headers) }),
  signalWithStart: (input, next) => next({ ...input, headers: withRequestHeader(input.headers) }),
};

function withRequestHeader(headers: Headers): Headers {
  const request = currentRequestContext();
  return request ? { ...headers, [REQUEST_CONTEXT_HEADER]: defaultPayloadConverter.toPayload(request) } : headers;
}
