import { existsSync } from 'node:fs';
import path from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/** The headless shell needs little more than half of the processor time. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

/** The path of a browser on PATH; undefined if there is none. */
const CHROMIUM = (process.env.PATH ?? '')
  .split(path.delimiter)
  .flatMap((folder) => NAMES.map((name) => path.join(folder, name)))
  .find((file) => existsSync(file));

/** A test that is skipped on machines without a browser. CI has one: see .ci/run. */
export const inBrowser = CHROMIUM !== undefined || process.env.CI ? test : test.skip;

/** As `inBrowser`, for tests that run at the same time. */
export const inBrowserConcurrently = inBrowser === test ? test.concurrent : test.skip;

export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox'] });
}
