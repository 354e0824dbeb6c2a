import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import { renderCliPage } from './cli-page';
import { renderSettingsPage } from './settings-page';

/** The pages that `npm run docs` writes. */
export const GENERATED_PAGES: Record<string, () => string> = {
  'docs/operators/cli.md': renderCliPage,
  'docs/operators/settings.md': renderSettingsPage,
};

if (require.main === module)
  for (const [page, render] of Object.entries(GENERATED_PAGES)) writeFileSync(path.join(PACKAGE_ROOT, page), render());
