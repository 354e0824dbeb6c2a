import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Fault = (incoming: IncomingMessage, response: ServerResponse) => void;

export interface HttpProxy {
  url: string;
  /** `METHOD path` of each request that came, faulty ones too. */
  requests: string[];
  /** The next requests meet these, one each: the request is passed on and its answer is lost, or the fault answers. */
  failNext: (...faults: ('lose the answer' | Fault)[]) => void;
  stop(): Promise<void>;
}

/** An HTTP proxy in front of `target` that fails as it is told to. */
export async function startHttpProxy(target: string): Promise<HttpProxy> {
  const requests: string[] = [];
  let faults: ('lose the answer' | Fault)[] = [];
  const server = createServer((incoming, response) => {
    requests.push(`${incoming.method} ${incoming.url}`);
    const fault = faults.shift();
    if (typeof fault === 'function') {
      fault(incoming, response);
      return;
    }
    const { method, url, headers } = incoming;
    const onward = request(target + url!, { method, headers }, (answer) => {
      if (fault) {
        answer.resume().on('end', () => incoming.socket.destroy());
        return;
      }
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    failNext: (...next) => {
      faults = next;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
