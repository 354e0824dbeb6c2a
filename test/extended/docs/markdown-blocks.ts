import { readFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../../src/package';

export interface CodeBlock {
  language: string;
  code: string;
}

/**
 * Returns the fenced code blocks of a page, in order.
 * @param heading only the blocks of the section with this second-level heading
 */
export function codeBlocks(page: string, heading?: string): CodeBlock[] {
  const text = heading === undefined ? readPage(page) : section(readPage(page), heading);
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', code = '']) => ({ language, code }));
}

function section(page: string, heading: string): string {
  const text = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0];
  if (text === undefined) throw new Error(`no section has the heading "${heading}"`);
  return text;
}

function readPage(page: string): string {
  return readFileSync(path.join(PACKAGE_ROOT, page), 'utf8');
}
