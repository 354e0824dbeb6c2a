import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];
const PHONE = { width: 390, height: 844 };
/** WCAG 2.2, 1.4.10 (reflow): pages do not scroll horizontally at this width. */
const NARROW = { width: 320, height: 640 };

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
  await page.setViewportSize(PHONE);
  return found;
}
