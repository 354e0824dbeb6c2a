import { renderCliPage } from './cli-page';
import { renderErrorsPage } from './errors-page';
import { renderSettingsPage } from './settings-page';

/** The pages that `npm run docs` writes. */
export const GENERATED_PAGES: Record<string, () => string> = {
  'docs/operators/cli.md': renderCliPage,
  'docs/sellers/errors.md': renderErrorsPage,
  'docs/operators/settings.md': renderSettingsPage,
};
