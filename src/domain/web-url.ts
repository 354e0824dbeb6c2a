/** The maximum length of a URL from a seller, as it is sent: normalized, so that `é` counts as `%C3%A9`. */
export const MAX_URL_LENGTH = 2048;

const TOO_LONG = `must be at most ${MAX_URL_LENGTH} characters as it is sent`;

/**
 * Parses a URL; undefined if it is malformed. `URL.canParse` of Node 20 refuses valid URLs with letters such as `é` once
 * the process has called it some thousand times.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** True for a `hostname` of a `URL` that is this machine itself. */
export const isThisMachine = (hostname: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);

/** Why a text is not the URL of a web server, to follow the name of a field; undefined if it is. */
export function checkWebUrl(text: string): string | undefined {
  if (text.length > MAX_URL_LENGTH) return TOO_LONG;
  // URL() silently drops or rewrites these characters, so that two parsers could see two hosts.
  if (/[\\\s]|[^\P{C}]/u.test(text)) return 'must not contain backslashes, whitespace or control characters';
  // URL() also accepts `https:host` and `https:////host`.
  const url = /^https?:\/\/[^/?#]/i.test(text) ? parseUrl(text) : undefined;
  if (!url) return 'must be an absolute http(s) URL';
  if (url.href.length > MAX_URL_LENGTH) return TOO_LONG;
  // Checked in the text, because URL() drops an empty user name.
  return /^[^/]+\/\/[^/?#]*@/.test(text) ? 'must not contain a user name or password' : undefined;
}

/**
 * Adds the query parameter `orderId` with the order's id (spec section 2.1) to a URL that has none. Other parameters and the
 * fragment keep their exact text: URLSearchParams would re-encode them (`%20` as `+`).
 */
export function withOrderId(url: string, orderId: string): string {
  const parsed = new URL(url);
  parsed.search += `${parsed.search === '' ? '?' : '&'}orderId=${orderId}`;
  return parsed.href;
}
