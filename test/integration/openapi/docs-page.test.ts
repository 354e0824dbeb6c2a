import type { Browser } from 'playwright-core';
import { CHROMIUM, launchChromium } from '../../support/chromium';
import { operations } from '../../support/contract';
import { useStack } from '../../support/stack';

const stack = useStack({ worker: false });

describe('in a browser', () => {
  // Which machine has one is not for the tests to say; CI's has.
  const inBrowser = CHROMIUM !== undefined || process.env.CI ? test : test.skip;
  let browser: Browser;
  beforeAll(async () => {
    if (CHROMIUM !== undefined) browser = await launchChromium();
  });
  afterAll(async () => {
    if (CHROMIUM !== undefined) await browser.close();
  });

  inBrowser.each([
    ['a desktop', 1280],
    ['a phone', 390],
  ])(
    'on %s it shows every operation and webhook, asks nobody else for anything, and breaks no rule of its policy',
    async (_name, width) => {
      const page = await browser.newPage({ viewport: { width, height: 900 } });
      const requests: string[] = [];
      const trouble: string[] = [];
      page.on('request', (request) => requests.push(request.url()));
      page.on('console', (message) => trouble.push(message.text()));
      page.on('pageerror', (error) => trouble.push(error.message));
      await page.goto(`${stack.api.url}/docs`);
      await page.locator('.opblock').first().waitFor();
      const shown = await page.locator('.opblock-summary').allInnerTexts();
      for (const { operation } of operations) expect(shown.some((text) => text.includes(operation.summary))).toBe(true);
      expect(shown.filter((text) => /order\.status_changed|webhook\.test/.test(text))).toHaveLength(2);

      await page.locator('#operations-Orders-createOrder .opblock-summary').click();
      await page
        .locator('#operations-Orders-createOrder .responses-table', { hasText: 'duplicate_reference' })
        .waitFor();
      const body = page.locator('body');
      expect(await body.evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true);
      expect(trouble).toEqual([]);
      // Pictures in the page itself are no requests to anybody.
      expect(requests.filter((url) => !url.startsWith('data:') && !url.startsWith(`${stack.api.url}/`))).toEqual([]);
      expect(requests).toContain(`${stack.api.url}/openapi.json`);
      await page.close();
    },
  );
});

describe('over HTTP', () => {
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(stack.api.url + path, { method, headers, redirect: 'manual' });

  test('/docs leads to /docs/', async () => {
    const { status, headers } = await get('/docs');
    expect([status, headers.get('Location')]).toEqual([308, '/docs/']);
  });

  test.each([
    '/docs/',
    '/docs/page.js',
    '/docs/page.css',
    '/docs/swagger-ui-bundle.js',
    '/docs/swagger-ui.css',
    '/openapi.json',
  ])('%s needs no key, counts to the limit of the address, and is not sent twice to who has it', async (path) => {
    const first = await get(path);
    expect(first.status).toBe(200);
    expect(first.headers.get('RateLimit-Policy')).toContain('"address"');
    expect(first.headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(await first.text()).not.toBe('');
    const etag = first.headers.get('ETag') ?? '';
    // Node's fetch would ask for a fresh one.
    const second = await get(path, { 'If-None-Match': etag, 'Cache-Control': 'max-age=0' });
    expect([second.status, await second.text(), second.headers.get('ETag')]).toEqual([304, '', etag]);
  });

  test('what is read by those who take gzip is what the others read', async () => {
    const plain = await get('/openapi.json', { 'Accept-Encoding': 'identity' });
    const zipped = await get('/openapi.json', { 'Accept-Encoding': 'gzip' });
    expect([plain, zipped].map(({ headers }) => headers.get('Content-Encoding'))).toEqual([null, 'gzip']);
    expect(await zipped.text()).toBe(await plain.text());
  });

  test('the page lets in nothing but its own', async () => {
    const { headers } = await get('/docs/');
    const policy = headers.get('Content-Security-Policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(headers.get('Content-Type')).toBe('text/html; charset=utf-8');
  });

  test('HEAD is served, other methods and files are not', async () => {
    expect((await get('/openapi.json', {}, 'HEAD')).status).toBe(200);
    expect((await get('/docs/', {}, 'POST')).status).toBe(405);
    expect((await get('/docs/package.json')).status).toBe(404);
    expect((await get('/docs/..%2fpackage.json')).status).toBe(404);
  });
});
