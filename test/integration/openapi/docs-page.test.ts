import type { Browser } from 'playwright-core';
import { inBrowser, launchChromium } from '../../support/chromium';
import { BASE } from '../../support/api';
import { GUIDES, PAGES } from '../../../src/api/docs-routes';
import { PROBLEM_CODES } from '../../../src/contracts/problem-table';
import { expectProblem } from '../../support/problems';
import { useSharedStack } from '../../support/shared-stack';

// The page is large.
jest.setTimeout(600_000);

const stack = useSharedStack();
/** The paths of the guides and the examples. */
const TEXTS = [...PAGES.keys()].filter((path) => path !== '/docs' && !path.includes('.')).map((path) => `${path}/`);

describe('in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser.close());

  inBrowser.each([
    ['a desktop', 1280],
    ['a phone', 390],
  ])(
    'the documentation page shows an operation with its samples on %s, calls no other host and follows its Content-Security-Policy',
    async (_name, width) => {
      const page = await browser.newPage({ viewport: { width, height: 900 } });
      page.setDefaultTimeout(120_000);
      const requests: string[] = [];
      const messages: string[] = [];
      page.on('request', (request) => requests.push(request.url()));
      // Scalar logs how long it takes.
      page.on('console', (message) => message.type() === 'error' && messages.push(message.text()));
      page.on('pageerror', (error) => messages.push(error.message));
      await page.goto(`${stack.api.url}/docs`);
      await page.getByRole('heading', { name: 'Order service' }).waitFor();
      await page.getByRole('link', { name: 'OpenAPI document' }).waitFor();
      const path = `${BASE}/seller/{supplier_uuid}/order/`;
      await page.goto(`${stack.api.url}/docs/#tag/orders/POST${path}`);
      await page.getByRole('heading', { name: 'Create an order', exact: true }).waitFor();
      // The sample that Scalar makes: the path, the example body and the key.
      const sample = page.locator('code', { hasText: `${BASE}/seller/` }).first();
      await sample.waitFor();
      const text = (await sample.textContent()) ?? '';
      expect(
        ['curl', '"amount"', '"reference"', 'Authorization: Bearer'].filter((part) => !text.includes(part)),
      ).toEqual([]);
      const body = page.locator('body');
      expect(await body.evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true);
      expect(messages).toEqual([]);
      // Images inside the page cause no requests.
      expect(requests.filter((url) => !url.startsWith('data:') && !url.startsWith(`${stack.api.url}/`))).toEqual([]);
      expect(requests).toContain(`${stack.api.url}/openapi.json`);
      await page.close();
    },
  );

  inBrowser('the guides fit the screen of a phone, and cause no request to another host and no error', async () => {
    const page = await browser.newPage({ viewport: { width: 390, height: 900 } });
    const requests: string[] = [];
    const messages: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    page.on('console', (message) => messages.push(message.text()));
    for (const path of TEXTS) {
      await page.goto(stack.api.url + path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    }
    expect(messages).toEqual([]);
    expect(requests.filter((url) => !url.startsWith('data:') && !url.startsWith(`${stack.api.url}/`))).toEqual([]);
    await page.close();
  });

  inBrowser('each code block of a guide has a button that copies it, and no line is cut on a phone', async () => {
    const context = await browser.newContext({ viewport: { width: 390, height: 900 } });
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const page = await context.newPage();
    await page.goto(`${stack.api.url}/docs/quickstart/`);
    const blocks = page.locator('pre');
    const command = blocks.filter({ hasText: 'NUMBER=$(' });
    await command.getByRole('button', { name: 'Copy' }).click();
    await command.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(await command.locator('code').textContent());
    expect(await page.locator('pre > button').count()).toBe(await blocks.count());
    const cut = await blocks.evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).length);
    expect(cut).toBe(0);
    await context.close();
  });
});

describe('the guides', () => {
  test('link to pages, headings and files that are served, or to other sites', async () => {
    const pages = new Map<string, string>();
    for (const path of TEXTS) pages.set(path, await (await fetch(stack.api.url + path)).text());
    pages.set('/docs/', '');
    pages.set('/docs/guides.css', '');
    for (const path of PAGES.keys()) if (path.endsWith('.md')) pages.set(path, '');
    let seen = 0;
    for (const [own, html] of pages) {
      const ids = [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
      expect([own, ids]).toEqual([own, [...new Set(ids)]]);
      for (const [, href = ''] of html.matchAll(/ href="([^"]*)"/g)) {
        if (/^(https?:|data:)/.test(href)) continue;
        const [path = '', anchor] = href.split('#');
        const target = pages.get(path === '' ? own : path);
        expect([own, href, target !== undefined]).toEqual([own, href, true]);
        if (anchor !== undefined)
          expect([own, href, target]).toEqual([own, href, expect.stringContaining(` id="${anchor}"`)]);
        seen++;
      }
    }
    expect(seen).toBeGreaterThan(150);
  });

  test('are there as Markdown too, with links to headings and files that are served, and /llms.txt lists them', async () => {
    const index = await fetch(`${stack.api.url}/llms.txt`);
    expect(index.headers.get('Content-Type')).toBe('text/plain; charset=utf-8');
    const listed = [...(await index.text()).matchAll(/\]\((.*?)\)/g)].map(([, path]) => path!);
    expect([...listed].sort()).toEqual(['/openapi.json', ...TEXTS.map((path) => path.replace(/\/$/, '.md'))].sort());
    let seen = 0;
    for (const path of listed.filter((one) => one.endsWith('.md'))) {
      const page = await fetch(stack.api.url + path);
      expect([path, page.headers.get('Content-Type')]).toEqual([path, 'text/markdown; charset=utf-8']);
      const text = (await page.text()).replace(/^```.*?^```/gms, '');
      for (const [, href = ''] of text.matchAll(/\]\(([^)\s]*)\)/g)) {
        if (/^(https?|mailto):/.test(href)) continue;
        const [target = '', anchor] = href.split('#');
        const html = await (await fetch(stack.api.url + (target || path).replace(/\.md$/, '/'))).text();
        if (anchor !== undefined)
          expect([path, href, html]).toEqual([path, href, expect.stringContaining(`id="${anchor}"`)]);
        expect([path, href, target === '' || listed.includes(target) || target === '/docs/']).toEqual([
          path,
          href,
          true,
        ]);
        seen++;
      }
    }
    expect(seen).toBeGreaterThan(50);
  });

  test('show every example file, and all that a guide says is text, not markup', async () => {
    const php = await (await fetch(`${stack.api.url}/docs/examples/php/`)).text();
    expect(php).toContain('<h2 id="payphp">pay.php</h2>');
    expect(php).toContain('&lt;?php');
    expect(php).not.toContain('<?php');
  });

  test('document each error at the URL that is its type, and are linked from the OpenAPI document', async () => {
    const problem = expectProblem(await stack.api.call('GET', '/nothing'), 404, 'not_found');
    const url = new URL(problem.type, stack.api.url);
    const errors = await (await fetch(url)).text();
    for (const code of PROBLEM_CODES) expect(errors).toContain(`<h3 id="${code}">`);
    expect(url.hash).toBe('#not_found');
    const { info } = (await (await fetch(`${stack.api.url}/openapi.json`)).json()) as { info: { description: string } };
    for (const { name, title } of GUIDES) expect(info.description).toContain(`[${title}](/docs/${name}/)`);
  });
});

describe('the documentation over HTTP', () => {
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(stack.api.url + path, { method, headers, redirect: 'manual' });

  test.each([
    ['/docs', 308],
    ['/', 302],
  ])('redirects from %s to /docs/', async (path, expected) => {
    const { status, headers } = await get(path);
    expect([status, headers.get('Location')]).toEqual([expected, '/docs/']);
  });

  test.each([
    '/docs/',
    '/docs/page.js',
    '/openapi.json',
    '/docs/guides.css',
    '/docs/guides.js',
    '/docs/quickstart.md',
    '/llms.txt',
    '/docs/quickstart/',
    '/docs/examples/php',
  ])('has %s without a key, and counts the request for the address', async (path) => {
    const response = await get(path);
    expect(response.status).toBe(200);
    expect(response.headers.get('RateLimit-Policy')).toContain('"address"');
    expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(await response.text()).not.toBe('');
  });

  test('has its library only compressed, whatever the caller accepts, and under a name that changes with it', async () => {
    const [, name] = /<script src="(scalar-[\w-]{22}\.js)">/.exec(await (await get('/docs/')).text())!;
    for (const encoding of ['identity', 'gzip', 'br', '*;q=0']) {
      const { status, headers } = await get(`/docs/${name}`, { 'Accept-Encoding': encoding });
      expect([status, headers.get('Content-Encoding')]).toEqual([200, 'gzip']);
      expect(headers.get('Cache-Control')).toBe('public, max-age=31536000, immutable');
      expect(Number(headers.get('Content-Length'))).toBeLessThan(1_500_000);
    }
    expect(await (await get(`/docs/${name}`)).text()).toContain('createApiReference');
    for (const other of ['scalar.js', `scalar-${'A'.repeat(22)}.js`])
      expect((await get(`/docs/${other}`)).status).toBe(404);
  });

  test('forbids inline scripts and other hosts in its Content-Security-Policy', async () => {
    const { headers } = await get('/docs/');
    const policy = headers.get('Content-Security-Policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toMatch(/unsafe-eval|https?:|\*/);
    expect(headers.get('Content-Type')).toBe('text/html; charset=utf-8');
    const ofGuide = (await get('/docs/webhooks/')).headers.get('Content-Security-Policy') ?? '';
    expect(ofGuide).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(ofGuide).not.toMatch(/unsafe|https?:|\*/);
  });

  test('supports HEAD, and rejects other methods and unknown files', async () => {
    expect((await get('/openapi.json', {}, 'HEAD')).status).toBe(200);
    expect((await get('/docs/', {}, 'POST')).status).toBe(405);
    expect((await get('/docs/package.json')).status).toBe(404);
    expect((await get('/docs/..%2fpackage.json')).status).toBe(404);
  });
});
