import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';

/** Resolves when a server of this process, such as a stack's API, has the headers of a request for this path. */
export function untilServed(path: string): Promise<void> {
  return new Promise((resolve) => {
    const channel = 'http.server.request.start';
    subscribe(channel, function onRequest(message) {
      if ((message as { request: IncomingMessage }).request.url !== path) return;
      unsubscribe(channel, onRequest);
      resolve();
    });
  });
}
