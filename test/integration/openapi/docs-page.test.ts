import type { Browser } from 'playwright-core';
import { CHROMIUM, launchChromium } from '../../support/chromium';
import { operations } from '../../support/contract';
import { type Stack, startStack } from '../../support/stack';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ worker: false });
});
afterAll(() => stack.stop());

describe('the documentation page in a browser', () => {
  // A browser is optional on a developer's machine. CI must have one.
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
    'the page on %s shows every operation and webhook, sends requests to this server only, and logs no errors',
    async (_name, width) => {
      const page = await browser.newPage({ viewport: { width, height: 900 } });
      const requests: string[] = [];
      const errors: string[] = [];
      page.on('request', (request) => requests.push(request.url()));
      page.on('console', (message) => errors.push(message.text()));
      page.on('pageerror', (error) => errors.push(error.message));
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
      expect(errors).toEqual([]);
      // `data:` URLs send no request.
      expect(requests.filter((url) => !url.startsWith('data:') && !url.startsWith(`${stack.api.url}/`))).toEqual([]);
      expect(requests).toContain(`${stack.api.url}/openapi.json`);
      await page.close();
    },
  );
});

describe('the documentation over HTTP', () => {
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(stack.api.url + path, { method, headers, redirect: 'manual' });

  test('/docs redirects to /docs/', async () => {
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
  ])('%s needs no key, counts towards the limit of the address, and returns 304 for a matching ETag', async (path) => {
    const first = await get(path);
    expect(first.status).toBe(200);
    expect(first.headers.get('RateLimit-Policy')).toContain('"address"');
    expect(first.headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(await first.text()).not.toBe('');
    const etag = first.headers.get('ETag') ?? '';
    // Without this header, Node's fetch sends `Cache-Control: no-cache`, which prevents the 304.
    const second = await get(path, { 'If-None-Match': etag, 'Cache-Control': 'max-age=0' });
    expect([second.status, await second.text(), second.headers.get('ETag')]).toEqual([304, '', etag]);
  });

  test('the gzip response has the same content as the plain one', async () => {
    const plain = await get('/openapi.json', { 'Accept-Encoding': 'identity' });
    const zipped = await get('/openapi.json', { 'Accept-Encoding': 'gzip' });
    expect([plain, zipped].map(({ headers }) => headers.get('Content-Encoding'))).toEqual([null, 'gzip']);
    expect(await zipped.text()).toBe(await plain.text());
  });

  test('the Content-Security-Policy of the page allows only its own resources', async () => {
    const { headers } = await get('/docs/');
    const policy = headers.get('Content-Security-Policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(headers.get('Content-Type')).toBe('text/html; charset=utf-8');
  });

  test('HEAD is supported; other methods and unknown files are not', async () => {
    expect((await get('/openapi.json', {}, 'HEAD')).status).toBe(200);
    expect((await get('/docs/', {}, 'POST')).status).toBe(405);
    expect((await get('/docs/package.json')).status).toBe(404);
    expect((await get('/docs/..%2fpackage.json')).status).toBe(404);
  });
});
