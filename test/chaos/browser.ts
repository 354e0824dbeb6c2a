import { Agent, request } from 'undici';

const TIMEOUT_MS = 7000;

export interface PageReply {
  /** 0 without a response. */
  status: number;
  text: string;
  /** The browser loads it again after a while. */
  isRefreshing: boolean;
  /** In ms of `performance.now()`. */
  startedAt: number;
  endedAt: number;
}

/** A customer's browser: it keeps cookies, and the hidden fields of the last page with a form. */
export class Browser {
  private readonly cookies = new Map<string, string>();
  private hidden: Record<string, string> = {};
  private requests = 0;

  /** @param urls of the API processes, which requests take in turns */
  constructor(
    private readonly urls: readonly string[],
    private readonly dispatcher: Agent,
  ) {}

  open(path: string): Promise<PageReply> {
    return this.send('GET', path);
  }

  submit(path: string, fields: Record<string, string>): Promise<PageReply> {
    return this.send('POST', path, new URLSearchParams({ ...this.hidden, ...fields }).toString());
  }

  private async send(method: 'GET' | 'POST', path: string, body?: string): Promise<PageReply> {
    const startedAt = performance.now();
    const url = this.urls[this.requests++ % this.urls.length]! + path;
    try {
      const response = await request(url, {
        ...{ method, dispatcher: this.dispatcher },
        headers: {
          cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
          ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
        },
        ...(body !== undefined && { body }),
      });
      const text = await response.body.text();
      for (const cookie of [response.headers['set-cookie'] ?? []].flat()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
        this.cookies.set(name, value);
      }
      if (text.includes('<form')) this.hidden = hiddenFields(text);
      const isRefreshing = response.headers.refresh !== undefined;
      return { status: response.statusCode, text, isRefreshing, startedAt, endedAt: performance.now() };
    } catch {
      return { status: 0, text: '', isRefreshing: false, startedAt, endedAt: performance.now() };
    }
  }
}

export const createAgent = (): Agent =>
  new Agent({ headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS, connect: { timeout: 2000 } });

function hiddenFields(page: string): Record<string, string> {
  const inputs = [...page.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)];
  return Object.fromEntries(inputs.map(([, name, value]) => [name, value]));
}
