import { readFileSync } from 'node:fs';
import path from 'node:path';
import escapeHtml from 'escape-html';
import { PACKAGE_ROOT } from '../package';

/** A page for sellers. `npm run build` renders them from docs/ and examples/: see tools/guides.mjs. */
interface Guide {
  /** The page is at `/docs/<name>/`. */
  name: string;
  title: string;
  /** The first paragraph, as text. */
  summary: string;
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

/**
 * Everything on the page is same-origin. Scalar, the library that displays the document, sets its styles by script,
 * which needs 'unsafe-inline' for styles. Scripts are files of this server only.
 */
export const REFERENCE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The guides need no script. */
export const GUIDE_POLICY =
  "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'";

/** The page of the API reference. @param library the name of Scalar's script */
export const renderReference = (library: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Order service: API reference</title>
    <link rel="icon" href="data:,">
  </head>
  <body>
    <noscript>
      This page needs JavaScript. The OpenAPI document is at <a href="/openapi.json">/openapi.json</a>, and these pages need none:
      ${menu()}
    </noscript>
    <div id="docs"></div>
    <script src="${library}"></script>
    <script src="page.js"></script>
  </body>
</html>
`;

/**
 * Scalar displays the document, with a tag for each guide: its search finds tags by name and text. No fonts, telemetry,
 * proxy or assistant of other hosts. Scalar makes the samples from the document.
 */
export const renderScript = (): string => `const guides = ${JSON.stringify(GUIDES.map(toTag))};
const names = (tags) => tags.map(({ name }) => name);
fetch('/openapi.json').then((response) => response.json()).then((document) => {
  document['x-tagGroups'] = [{ name: 'Guides', tags: names(guides) }, { name: 'API', tags: names(document.tags) }];
  document.tags = [...guides, ...document.tags];
  // The library would offer the document with the guides for download.
  document.info.description += '\\n\\n**[OpenAPI document](/openapi.json)**';
  Scalar.createApiReference('#docs', {
    content: document,
    withDefaultFonts: false,
    telemetry: false,
    showDeveloperTools: 'never',
    agent: { disabled: true },
    mcp: { disabled: true },
    hideClientButton: true,
    defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
    hideModels: true,
    documentDownloadType: 'none',
    orderSchemaPropertiesBy: 'preserve',
    operationTitleSource: 'summary',
    customCss: ':root { --scalar-font: system-ui, sans-serif; --scalar-font-code: ui-monospace, monospace }',
  });
});
`;

const pathOf = ({ name }: Guide): string => `/docs/${name}/`;

function toTag(guide: Guide) {
  const path = pathOf(guide);
  const sections = guide.sections.map(({ id, title }) => `- [${title}](${path}#${id})`);
  const description = [guide.summary, `**[Read the guide](${path})**`, sections.join('\n')].join('\n\n');
  return { name: `guide-${guide.name}`, 'x-displayName': guide.title, description };
}

function menu(current?: Guide): string {
  const items = GUIDES.map((guide) => {
    const mark = guide === current ? ' aria-current="page"' : '';
    return `<li><a href="${pathOf(guide)}"${mark}>${escapeHtml(guide.title)}</a></li>`;
  });
  return `<ul>${items.join('')}</ul>`;
}

export const renderGuide = (guide: Guide): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escapeHtml(guide.title)}: Order service</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/docs/guides.css">
  </head>
  <body>
    <nav aria-label="Documentation"><a href="/docs/">API reference and search</a>${menu(guide)}</nav>
    <main>${guide.html}</main>
  </body>
</html>
`;
