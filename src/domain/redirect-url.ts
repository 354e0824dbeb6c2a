/**
 * Sets the query parameter `orderId` of a URL to the order's id (spec section 2.1) and replaces an existing one. Other
 * parameters and the fragment keep their exact text: URLSearchParams would re-encode them (`%20` as `+`).
 */
export function withOrderId(url: string, orderId: string): string {
  const parsed = new URL(url);
  // The name of a parameter may start with `?`. The leading `&` and `?` below stop it from being read as the separator.
  const others = parsed.search
    .slice(1)
    .split('&')
    .filter((parameter) => parameter !== '' && !new URLSearchParams(`&${parameter}`).has('orderId'));
  parsed.search = `?${[...others, `orderId=${orderId}`].join('&')}`;
  return parsed.href;
}
