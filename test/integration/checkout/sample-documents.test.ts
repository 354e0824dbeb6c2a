import { randomUUID } from 'node:crypto';
import { saveBranding } from '../../../src/checkout/db/branding';
import { newCustomer } from '../../support/checkout';
import { useSharedStack } from '../../support/shared-stack';

const stack = useSharedStack();

const look = async (name: string, query: string) => {
  const response = await fetch(`${stack.api.url}/pay/documents/${name}/${query}`);
  return { status: response.status, text: await response.text() };
};

test.each(['privacy', 'terms', 'credit-agreement'])(
  "the sample of the %s shows the shop's name and colour, and leads back to the order",
  async (name) => {
    await saveBranding(stack.db, stack.seller.id, { colour: '#7a1f5c' });
    const { url } = await newCustomer(stack, { redirect_url: 'https://shop.example/' });
    const path = new URL(url).pathname.replace(/\/$/, '');
    const { status, text } = await look(name, `?order=${path.split('/').at(-1)}`);
    expect(status).toBe(200);
    expect(text).toContain('--brand:#7a1f5c');
    expect(text).toContain('<span>Test Shop Ltd</span>');
    expect(text).toContain('This is a sample for tests');
    expect(text).toContain(`href="${path}/">Back to your order</a>`);
  },
);

test.each(['', `?order=${randomUUID()}`, '?order=x', '?order=a&order=b'])(
  "the sample without a known order (%j) is the service's own page",
  async (query) => {
    const { status, text } = await look('terms', query);
    const parts = ['This is a sample for tests', 'class="seller"', '--brand:#7a1f5c'];
    expect([status, ...parts.map((part) => text.includes(part))]).toEqual([200, true, false, false]);
  },
);
