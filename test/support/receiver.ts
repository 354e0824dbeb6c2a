import type { IncomingHttpHeaders } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { startTestServer } from './listening-server';
import { type Scope, useResource } from './use-resource';

interface Delivery {
  headers: IncomingHttpHeaders;
  /** The body, unparsed. */
  text: string;
  body: any;
  /** When the request arrived, in unix ms. */
  at: number;
}

export interface Receiver {
  url: string;
  deliveries: Delivery[];
  /** Sets the status of the next responses. Default: 200. */
  answerWith: (status: number | ((delivery: Delivery) => number), headers?: Record<string, string>) => void;
  stop(): Promise<void>;
}

/** Starts a seller's webhook endpoint: an HTTP server that keeps every request. */
export async function startReceiver(): Promise<Receiver> {
  const deliveries: Delivery[] = [];
  let statusFor: (delivery: Delivery) => number = () => 200;
  let responseHeaders: Record<string, string> = {};
  const server = await startTestServer((request, response) => {
    void readText(request).then(
      (text) => {
        const delivery = { headers: request.headers, text, body: JSON.parse(text), at: Date.now() };
        deliveries.push(delivery);
        response.writeHead(statusFor(delivery), responseHeaders).end('thanks');
      },
      () => response.destroy(),
    );
  });
  return {
    url: `${server.url}/hooks`,
    deliveries,
    answerWith(status, headers = {}) {
      statusFor = typeof status === 'number' ? () => status : status;
      responseHeaders = headers;
    },
    stop: () => server.close(),
  };
}

/** A webhook endpoint for the tests of a file, or a new one for each test. Declare it after the stack that calls it. */
export function useReceiver(scope?: Scope): Receiver {
  return useResource(startReceiver, (receiver) => receiver.stop(), scope);
}
