/**
 * Adds the query parameter `orderId` with the order's id (spec section 2.1) to a URL that has none. Other parameters and the
 * fragment keep their exact text: URLSearchParams would re-encode them (`%20` as `+`).
 */
export function withOrderId(url: string, orderId: string): string {
  const parsed = new URL(url);
  parsed.search += `${parsed.search === '' ? '?' : '&'}orderId=${orderId}`;
  return parsed.href;
}
