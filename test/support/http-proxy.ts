import { type IncomingMessage, type ServerResponse, request } from 'node:http';
import { startTestServer } from './listening-server';

export type Fault = (incoming: IncomingMessage, response: ServerResponse) => void;

interface HttpProxy {
  url: string;
  /** `METHOD path` of every request, including those that met a fault. */
  requests: string[];
  /**
   * Sets one fault for each of the next requests: the proxy drops the target's response, or the fault responds itself.
   */
  failNext: (...faults: ('lose the response' | Fault)[]) => void;
  stop(): Promise<void>;
}

/** Starts an HTTP proxy in front of `target` that can inject faults. */
export async function startHttpProxy(target: string): Promise<HttpProxy> {
  const requests: string[] = [];
  let faults: ('lose the response' | Fault)[] = [];
  const server = await startTestServer((incoming, response) => {
    requests.push(`${incoming.method} ${incoming.url}`);
    const fault = faults.shift();
    if (typeof fault === 'function') {
      fault(incoming, response);
      return;
    }
    const { method, url, headers } = incoming;
    const forwarded = request(target + url!, { method, headers }, (upstream) => {
      if (fault) {
        upstream.resume().on('end', () => incoming.socket.destroy());
        return;
      }
      response.writeHead(upstream.statusCode!, upstream.headers);
      upstream.pipe(response);
    });
    incoming.pipe(forwarded);
  });
  return {
    url: server.url,
    requests,
    failNext: (...next) => {
      faults = next;
    },
    stop: () => server.close(),
  };
}
