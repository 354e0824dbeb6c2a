import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** The browser on PATH; undefined where there is none. */
export const CHROMIUM = (process.env.PATH ?? '')
  .split(path.delimiter)
  .flatMap((folder) => NAMES.map((name) => path.join(folder, name)))
  .find((file) => existsSync(file));

export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox'] });
}
