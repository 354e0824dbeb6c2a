import { readFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package-root';

export interface CodeBlock {
  language: string;
  code: string;
}

/** The fenced code blocks of a page, in their order. */
export function codeBlocks(page: string): CodeBlock[] {
  const text = readFileSync(path.join(PACKAGE_ROOT, page), 'utf8');
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', code = '']) => ({ language, code }));
}
