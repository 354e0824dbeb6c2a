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
  for (let running = 0; running < 4; running++) void reads.sellerOf('a');
  await expect(reads.sellerOf('b')).rejects.toMatchObject({ code: 'service_unavailable' });
});
