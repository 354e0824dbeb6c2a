import { createPageReads } from '../../../src/checkout/http/page-reads';

test('a page that has waited too long for its turn returns service_unavailable, and pages of other sellers do not', async () => {
  const reads = createPageReads({ findSeller: () => Promise.resolve(undefined) }, 50);
  let end = (): void => undefined;
  const running = ['a', 'a', 'a'].map((seller) => reads.run(seller, () => new Promise<void>((done) => (end = done))));
  await expect(reads.run('a', () => Promise.resolve())).rejects.toMatchObject({
    code: 'service_unavailable',
    headers: { 'Retry-After': '5' },
  });
  expect(await reads.run('b', () => Promise.resolve('read'))).toBe('read');
  end();
  await running[2];
  expect(await reads.run('a', () => Promise.resolve('read'))).toBe('read');
});

test('a pay link whose lookup has waited too long returns service_unavailable', async () => {
  const reads = createPageReads({ findSeller: () => new Promise(() => undefined) }, 50);
  for (let running = 0; running < 4; running++) void reads.sellerOf('a', `192.0.2.${running}`);
  await expect(reads.sellerOf('b', '192.0.2.9')).rejects.toMatchObject({ code: 'service_unavailable' });
});

test('a flood of unknown pay links from one network neither delays customers of others nor those with a known link', async () => {
  const findSeller = (payLinkId: string) =>
    /^unknown/.test(payLinkId) ? new Promise<undefined>(() => undefined) : Promise.resolve('seller');
  const reads = createPageReads({ findSeller }, 50);
  expect(await reads.sellerOf('known', '192.0.2.1')).toBe('seller');
  const flood = Array.from({ length: 1000 }, (_, index) => reads.sellerOf(`unknown ${index}`, '192.0.2.1'));
  for (const one of flood) one.catch(() => undefined);
  expect(await reads.sellerOf('new', '192.0.2.2')).toBe('seller');
  expect(await reads.sellerOf('known', '192.0.2.1')).toBe('seller');
  const [, ...waiting] = await Promise.allSettled(flood.slice(-2));
  expect(waiting[0]).toMatchObject({ status: 'rejected', reason: { code: 'service_unavailable' } });
});
