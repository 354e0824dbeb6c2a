import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];
const SIZES = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 900 } };
/** WCAG 2.2, 1.4.10 (reflow): pages do not scroll horizontally at this width. */
const NARROW = { width: 320, height: 640 };

export interface Screenshot {
  name: string;
  size: 'phone' | 'desktop';
  png: Buffer;
}

/** Checks the current page with axe-core in both colour schemes, and for horizontal scrolling. */
export async function findViolations(page: Page): Promise<string[]> {
  const found: string[] = [];
  await page.evaluate(AXE);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    // Only colours differ between the schemes. Passed checks are left out: they are most of the result.
    const options = JSON.stringify({
      resultTypes: ['violations'],
      ...(colorScheme === 'dark' && { runOnly: COLOUR_RULES }),
    });
    const violations: any[] = await page.evaluate(`axe.run(${options}).then(({ violations }) => violations)`);
    found.push(
      ...violations.map(({ id, nodes }: any) => `${colorScheme} ${id}: ${nodes.map((node: any) => node.html)}`),
    );
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize(NARROW);
  if (await page.evaluate('document.documentElement.scrollWidth > innerWidth')) found.push('scrolls horizontally');
  await page.setViewportSize(SIZES.phone);
  return found;
}

export async function takeScreenshots(page: Page, name: string): Promise<Screenshot[]> {
  const screenshots: Screenshot[] = [];
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport);
    screenshots.push({ name, size: size as Screenshot['size'], png: await page.screenshot({ fullPage: true }) });
  }
  await page.setViewportSize(SIZES.phone);
  return screenshots;
}

/** Combines all screenshots of a size into one image. */
export async function contactSheet(
  page: Page,
  screenshots: readonly Screenshot[],
  size: Screenshot['size'],
): Promise<Buffer> {
  const columns = size === 'phone' ? 6 : 4;
  const images = screenshots
    .filter((screenshot) => screenshot.size === size)
    .map(({ png }) => `<img src="data:image/png;base64,${png.toString('base64')}">`);
  await page.setViewportSize({ width: 1300, height: 400 });
  await page.setContent(
    `<style>body{margin:12px;display:grid;grid-template-columns:repeat(${columns},1fr);gap:12px;align-items:start;background:#888}
     img{width:100%;display:block}</style>${images.join('')}`,
  );
  return page.screenshot({ fullPage: true });
}
