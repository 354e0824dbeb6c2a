import { randomUUID } from 'node:crypto';
import { expectDocumented } from './contract';

export interface Answer {
  status: number;
  headers: Headers;
  /** The JSON body as it came. */
  body: any;
  text: string;
}

export interface CallOptions {
  key?: string | null;
  headers?: Record<string, string>;
  /** Sent as it is where it is a string, else as JSON. */
  body?: unknown;
}

export const BASE = '/api/lending/edge/ecommerce';

export type Api = ReturnType<typeof apiOf>;

/** The calls of the contract, made over HTTP; each answer is held to the OpenAPI document. */
export function apiOf(url: string, seller: { id: string; key: string }, checkoutKey: string) {
  async function call(
    method: string,
    path: string,
    { key = seller.key, headers = {}, body }: CallOptions = {},
  ): Promise<Answer> {
    const response = await fetch(url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(key !== null && { Authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const { status, headers: answered } = response;
    const answer = { status, headers: answered, text, body: isJson(response) && text ? JSON.parse(text) : undefined };
    expectDocumented(method, path, answer);
    return answer;
  }

  return {
    url,
    checkoutKey,
    call,
    create: (data: Record<string, unknown> = {}, options: CallOptions = {}) =>
      call('POST', `${BASE}/seller/${seller.id}/order/`, { body: { data: { ...order(), ...data } }, ...options }),
    get: (id: string, options?: CallOptions) => call('GET', `${BASE}/order/${id}/`, options),
    cancel: (id: string, options?: CallOptions) => call('DELETE', `${BASE}/order/${id}/`, options),
    progress: (id: string, event: string, reason?: string) =>
      call('POST', `${BASE}/order/${id}/progress/`, { key: checkoutKey, body: { data: { event, reason } } }),
  };
}

/** The smallest valid create request, with a reference of its own. */
export function order(): Record<string, unknown> {
  return { amount: 1234.5, reference: `ref-${randomUUID()}` };
}

function isJson(response: Response): boolean {
  return /json/.test(response.headers.get('Content-Type') ?? '');
}
