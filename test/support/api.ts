import { randomUUID } from 'node:crypto';
import { expectDocumented } from './contract';

export interface ApiResponse {
  status: number;
  headers: Headers;
  /** The parsed JSON body; of CSV, the text. */
  body: any;
  text: string;
}

export interface CallOptions {
  key?: string | null;
  headers?: Record<string, string>;
  /** A string is sent unchanged; any other value is sent as JSON. */
  body?: unknown;
}

export const BASE = '/api/lending/edge/ecommerce';

export type Api = ReturnType<typeof apiOf>;

/** A client for tests. It checks every response against the OpenAPI document. */
export function apiOf(url: string, seller: { id: string; key: string }, checkoutKey: string) {
  async function call(
    method: string,
    path: string,
    { key = seller.key, headers = {}, body }: CallOptions = {},
  ): Promise<ApiResponse> {
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
    const parsed = text && (isJson(response) ? JSON.parse(text) : isCsv(response) ? text : undefined);
    const result = { status: response.status, headers: response.headers, text, body: parsed || undefined };
    expectDocumented(method, path, result);
    return result;
  }

  return {
    url,
    checkoutKey,
    call,
    create: (data: Record<string, unknown> = {}, options: CallOptions = {}) =>
      call('POST', `${BASE}/seller/${seller.id}/order/`, { body: { data: { ...order(), ...data } }, ...options }),
    get: (id: string, options?: CallOptions) => call('GET', `${BASE}/order/${id}/`, options),
    cancel: (id: string, options?: CallOptions) => call('DELETE', `${BASE}/order/${id}/`, options),
    progress: (id: string, event: string, reason?: string, options?: CallOptions) =>
      call('POST', `${BASE}/order/${id}/progress/`, {
        key: checkoutKey,
        body: { data: { event, reason } },
        ...options,
      }),
  };
}

/** The smallest valid create request, with a unique reference. */
export function order(): Record<string, unknown> {
  return { amount: 1234.5, reference: `ref-${randomUUID()}` };
}

function isCsv(response: Response): boolean {
  return /^text\/csv/.test(response.headers.get('Content-Type') ?? '');
}

function isJson(response: Response): boolean {
  return /json/.test(response.headers.get('Content-Type') ?? '');
}
