import { BASE } from './api';
import type { Stack, TestSeller } from './stack';

/** A person who uses the seller's page in a browser without scripts: keeps cookies, follows no redirects. */
export function portalVisitor({ api, seller }: { api: Pick<Stack['api'], 'url' | 'call'>; seller: TestSeller }) {
  const cookies = new Map<string, string>();

  async function request(path: string, fields?: Record<string, string>, headers: Record<string, string> = {}) {
    const response = await fetch(new URL(path, api.url), {
      redirect: 'manual',
      headers: { Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '), ...headers },
      ...(fields && { method: 'POST', body: new URLSearchParams(fields) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    return { status: response.status, headers: response.headers, text: await response.text() };
  }
  type Page = Awaited<ReturnType<typeof request>>;

  const tokenOf = ({ text }: Page): string => /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? '';

  return {
    cookies,
    request,
    tokenOf,
    get: (path: string): Promise<Page> => request(path),
    /** Sends a form with the token of a page. */
    submit: async (from: string, action: string, fields: Record<string, string> = {}): Promise<Page> =>
      request(action, { form_token: tokenOf(await request(from)), ...fields }),
    /** Asks for a link, as the seller's back office does, and returns its path. */
    async link(data: object = {}, options: object = {}): Promise<string> {
      const { status, body } = await api.call('POST', `${BASE}/seller/${seller.id}/portal_session/`, {
        body: { data },
        ...options,
      });
      if (status !== 201) throw new Error(JSON.stringify(body));
      return new URL(body.data.url).pathname;
    },
    async signIn(data: object = {}, options: object = {}): Promise<Page> {
      const link = await this.link(data, options);
      return this.submit(link, link);
    },
  };
}
