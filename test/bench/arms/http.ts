import { Pool } from 'undici';

export interface Answer {
  status: number;
  body: any;
  etag: string | undefined;
}

interface HttpClient {
  call: (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    options?: { headers?: Record<string, string>; body?: unknown },
  ) => Promise<Answer>;
  close: () => Promise<void>;
}

const TIMEOUT_MS = 30_000;
const CONNECTIONS = 64;

/**
 * The HTTP client of all arms: connections stay open.
 * @param localAddress from which it calls
 */
export function httpClient(port: number, localAddress = '127.0.0.1'): HttpClient {
  const pool = new Pool(`http://127.0.0.1:${port}`, {
    connections: CONNECTIONS,
    headersTimeout: TIMEOUT_MS,
    connect: { localAddress },
  });
  return {
    async call(method, path, { headers = {}, body } = {}) {
      const response = await pool.request({
        method,
        path,
        headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.body.text();
      const { etag } = response.headers;
      return {
        status: response.statusCode,
        body: text.startsWith('{') ? JSON.parse(text) : undefined,
        etag: typeof etag === 'string' ? etag : undefined,
      };
    },
    close: () => pool.destroy(),
  };
}

/** @throws Error unless the status is as expected */
export function expectStatus(answer: Answer, status: number): Answer {
  if (answer.status !== status)
    throw new Error(`${answer.status} instead of ${status}: ${JSON.stringify(answer.body)}`);
  return answer;
}
