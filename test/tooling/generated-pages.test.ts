import { readFileSync } from 'node:fs';
import path from 'node:path';
import { loadConfig } from '../../src/config';
import { GENERATED_PAGES } from '../../tools/docs/pages';
import { listSettings } from '../../tools/docs/settings-page';
import { PACKAGE_ROOT } from '../../src/package';

const settings = listSettings();

test.each(Object.entries(GENERATED_PAGES))('%s is up to date (`npm run docs` writes it)', (page, render) => {
  expect(readFileSync(path.join(PACKAGE_ROOT, page), 'utf8')).toBe(render());
});

test('the documented defaults are accepted as values and give the default configuration', () => {
  const required = { DATABASE_URL: 'postgres://localhost/orders', CHECKOUT_BASE_URL: 'http://localhost' };
  const defaults = settings.flatMap(({ env, default: value }) => (value === undefined ? [] : [[env, String(value)]]));
  expect(loadConfig({ ...required, ...Object.fromEntries(defaults) })).toEqual(loadConfig(required));
});
