import type { Api } from './api';
import { startTestServer } from './listening-server';

interface Shop {
  /** The redirect URL. Like real shops, it redirects customers to another host name. */
  url: string;
  /** For each returning customer, the order and the status that the shop's own GET returned at that moment. */
  visits: { orderId: string; status: string }[];
  stop(): Promise<void>;
}

/** Starts a seller's shop that customers return to. */
export async function startShop(api: () => Api): Promise<Shop> {
  const visits: Shop['visits'] = [];
  const server = await startTestServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://shop.example');
    const orderId = searchParams.get('orderId') ?? '';
    if (pathname === '/back') {
      void api()
        .get(orderId)
        .then(({ body }) => {
          visits.push({ orderId, status: body.data.status });
          response.writeHead(302, { Location: `http://localhost:${server.port}/thanks?order=${orderId}` }).end();
        });
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/html' }).end(`<title>Shop</title><h1>Thanks for your order</h1>`);
  });
  return { url: `${server.url}/back`, visits, stop: () => server.close() };
}
