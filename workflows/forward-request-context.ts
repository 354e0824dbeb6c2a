import type { Headers, Payload } from '@temporalio/common';
import { AsyncLocalStorage, type WorkflowInterceptors } from '@temporalio/workflow';
import { REQUEST_CONTEXT_HEADER } from '../src/domain/request-context';

const storage = new AsyncLocalStorage<Payload>();

/**
 * Passes the request context of an update or a signal on to the activities that its handler calls. No step is
 * asynchronous, so the order of the workflow's commands stays the same.
 */
export const interceptors = (): WorkflowInterceptors => ({
  inbound: [
    {
      handleUpdate: (input, next) => within(input.headers, () => next(input)),
      handleSignal: (input, next) => within(input.headers, () => next(input)),
    },
  ],
  outbound: [
    {
      scheduleActivity: (input, next) => next(addRequestHeader(input)),
    },
  ],
});

function addRequestHeader<T extends { headers: Headers }>(input: T): T {
  const request = storage.getStore();
  return request ? { ...input, headers: { ...input.headers, [REQUEST_CONTEXT_HEADER]: request } } : input;
}

function within<T>({ [REQUEST_CONTEXT_HEADER]: request }: Headers, handle: () => T): T {
  return request ? storage.run(request, handle) : handle();
}
