import { readFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../package';

/** A page for sellers. `npm run build` renders them from docs/ and examples/: see tools/guides.mjs. */
export interface Guide {
  /** The page is at `/docs/<name>/`. */
  name: string;
  title: string;
  /** The first paragraph, as text. */
  summary: string;
  /** The headings, with the anchor of each. */
  sections: { id: string; title: string }[];
  html: string;
}

interface Guides {
  /** In the order of the menu. */
  guides: Guide[];
  /** The code that the guides link to. They are not in the menu. */
  examples: Guide[];
}

export const { guides: GUIDES, examples: EXAMPLES } = JSON.parse(
  readFileSync(path.join(PACKAGE_ROOT, 'dist/guides.json'), 'utf8'),
) as Guides;
