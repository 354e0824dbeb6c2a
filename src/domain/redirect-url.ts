/**
 * `url` with the order's id as the search parameter `orderId` (spec section 2.1), set once; other parameters and the
 * fragment stay as they were written, since URLSearchParams would write them anew (`%20` as `+`).
 */
export function withOrderId(url: string, orderId: string): string {
  const parsed = new URL(url);
  // A `?` may start a name; the `&` and the `?` below keep it from being taken for the start of the query.
  const others = parsed.search
    .slice(1)
    .split('&')
    .filter((parameter) => parameter !== '' && !new URLSearchParams(`&${parameter}`).has('orderId'));
  parsed.search = `?${[...others, `orderId=${orderId}`].join('&')}`;
  return parsed.href;
}
