import { readFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../../tools/package-root';

export interface CodeBlock {
  language: string;
  code: string;
}

/**
 * The fenced code blocks of a page, in their order.
 * @param section those under this heading only
 */
export function codeBlocks(page: string, section?: string): CodeBlock[] {
  const whole = readFileSync(path.join(PACKAGE_ROOT, page), 'utf8');
  const text = section === undefined ? whole : whole.split(`\n## ${section}\n`)[1]!.split('\n## ')[0]!;
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', code = '']) => ({ language, code }));
}
