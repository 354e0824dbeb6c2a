import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import { GENERATED_PAGES } from './pages';

/** `npm run docs`: writes the generated pages. */
for (const [page, render] of Object.entries(GENERATED_PAGES)) writeFileSync(path.join(PACKAGE_ROOT, page), render());
