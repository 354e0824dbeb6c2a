import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const SIZES = { phone: { width: 390, height: 844 }, desktop: { width: 1180, height: 820 } };
/** What WCAG 2.2 calls reflow: no sideways scrolling at this width (1.4.10). */
const NARROW = { width: 320, height: 640 };

export interface Shot {
  name: string;
  size: 'phone' | 'desktop';
  png: Buffer;
}

/** What axe-core finds on the page as it is, in both colour schemes, and whether it scrolls sideways. */
export async function faultsOf(page: Page): Promise<string[]> {
  const faults: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(AXE);
    const { violations } = await page.evaluate('axe.run()').then((result: any) => result);
    faults.push(
      ...violations.map(({ id, nodes }: any) => `${colorScheme} ${id}: ${nodes.map((node: any) => node.html)}`),
    );
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize(NARROW);
  if (await page.evaluate('document.documentElement.scrollWidth > innerWidth')) faults.push('scrolls sideways');
  await page.setViewportSize(SIZES.phone);
  return faults;
}

export async function shoot(page: Page, name: string): Promise<Shot[]> {
  const shots: Shot[] = [];
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport);
    shots.push({ name, size: size as Shot['size'], png: await page.screenshot({ fullPage: true }) });
  }
  await page.setViewportSize(SIZES.phone);
  return shots;
}

/** All shots of a size beside each other. */
export async function sheet(page: Page, shots: readonly Shot[], size: Shot['size']): Promise<Buffer> {
  const columns = size === 'phone' ? 6 : 4;
  const images = shots
    .filter((shot) => shot.size === size)
    .map(({ png }) => `<img src="data:image/png;base64,${png.toString('base64')}">`);
  await page.setViewportSize({ width: 1300, height: 400 });
  await page.setContent(
    `<style>body{margin:12px;display:grid;grid-template-columns:repeat(${columns},1fr);gap:12px;align-items:start;background:#888}
     img{width:100%;display:block}</style>${images.join('')}`,
  );
  return page.screenshot({ fullPage: true });
}
