import { renderCliPage } from './cli-page';
import { renderSettingsPage } from './settings-page';

/** The pages that `npm run docs` writes. */
export const GENERATED_PAGES: Record<string, () => string> = {
  'docs/operators/cli.md': renderCliPage,
  'docs/operators/settings.md': renderSettingsPage,
};
