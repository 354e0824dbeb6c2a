// Writes the pages at /docs/: the API reference, the guides for sellers, and the examples that they link to, also as Markdown.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import escapeHtml from 'escape-html';
import { marked } from 'marked';

/**
 * The pages at /docs/<name>/, in the order of their menu. Links between them, and to files and folders of examples/, work
 * there. Other links to files of this repository become text, because sellers do not have it.
 */
export const GUIDES = [
  'quickstart',
  'testing',
  'orders',
  'webhooks',
  'portal',
  'api-guide',
  'errors',
  'clients',
  'going-live',
].map((name) => `docs/sellers/${name}.md`);
const EXAMPLES = 'examples';
/** The library that displays the API reference. Of the package, the service needs this one file, and no dependency. */
const SCALAR = 'node_modules/@scalar/fastify-api-reference/dist/js/standalone.js';
/** The language of a code block for each extension of the examples. */
const LANGUAGES = { '.mjs': 'js', '.php': 'php', '.py': 'python', '.java': 'java', '.go': 'go', '.http': 'http' };

const nameOf = (file) => path.basename(file, '.md');

/** The path at which a file or folder of the repository is served. Undefined if it is not served. */
function pathOf(file) {
  if (GUIDES.includes(file)) return `/docs/${nameOf(file)}/`;
  if (file !== EXAMPLES && !file.startsWith(`${EXAMPLES}/`)) return undefined;
  return statSync(file).isDirectory()
    ? `/docs/${file}/`
    : `/docs/${path.dirname(file)}/#${anchorOf(path.basename(file))}`;
}

/** The path of the page's text: `/docs/quickstart/#3` becomes `/docs/quickstart.md#3`. */
const markdownPath = (served) => served.replace(/\/(#|$)/, '.md$1');

/** The anchor of a heading, as GitHub makes it. */
const anchorOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/**
 * @param name the page's path below /docs/
 * @param file where the text is, for its links
 */
function render(name, file, markdown) {
  const tokens = marked.lexer(markdown);
  const sections = [];
  const links = new Map();
  marked.walkTokens(tokens, (token) => {
    if (token.type !== 'link' || /^(https?|mailto):/.test(token.href)) return;
    const [target, anchor] = token.href.split('#');
    const served = target === '' ? '' : pathOf(path.posix.join(path.dirname(file), target));
    const href = served === undefined || anchor === undefined ? served : `${served}#${anchor}`;
    links.set(token.href, href);
    // A text token has no link.
    if (href === undefined) Object.assign(token, { type: 'text', text: token.text });
    else token.href = href;
  });
  const html = marked.parser(tokens).replace(/<h([1-4])>(.*?)<\/h\1>/g, (_, level, heading) => {
    const id = anchorOf(textOf(heading));
    if (level === '2' || level === '3') sections.push({ id, title: textOf(heading) });
    return `<h${level} id="${id}">${heading}</h${level}>`;
  });
  const [, title] = /<h1 [^>]*>(.*?)<\/h1>/.exec(html) ?? [];
  if (title === undefined) throw new Error(`${file} has no title`);
  const [, summary = ''] = /<p>(.*?)<\/p>/s.exec(html) ?? [];
  const text = markdown.replace(/\[([^\]]*)\]\(([^)\s]+)\)/g, (link, label, href) => {
    if (!links.has(href)) return link;
    const target = links.get(href);
    return target === undefined ? label : `[${label}](${markdownPath(target)})`;
  });
  return { name, title: textOf(title), summary: textOf(summary), sections, html, text };
}

const ENTITIES = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' };
const textOf = (html) => html.replace(/<[^>]+>/g, '').replace(/&[^;]+;/g, (entity) => ENTITIES[entity] ?? entity);

function examplesPage(folder) {
  const files = readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => entry.isFile() && path.extname(entry.name) in LANGUAGES,
  );
  const blocks = files.map(({ name }) => {
    const code = readFileSync(path.join(folder, name), 'utf8').trimEnd();
    return `## ${name}\n\n\`\`\`\`${LANGUAGES[path.extname(name)]}\n${code}\n\`\`\`\``;
  });
  return render(folder, folder, [`# Files of ${folder}`, ...blocks].join('\n\n'));
}

const urlOf = ({ name }) => `/docs/${name}/`;

function menu(guides, current) {
  const items = guides.map((guide) => {
    const mark = guide === current ? ' aria-current="page"' : '';
    return `<li><a href="${urlOf(guide)}"${mark}>${escapeHtml(guide.title)}</a></li>`;
  });
  return `<ul>${items.join('')}</ul>`;
}

const page = (title, head, body) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escapeHtml(title)}</title>
    <link rel="icon" href="data:,">
    ${head}
  </head>
  <body>
    ${body}
  </body>
</html>
`;

const guidePage = (guides, guide) =>
  page(
    `${guide.title}: Order service`,
    `<link rel="stylesheet" href="/docs/guides.css">
    <link rel="alternate" type="text/markdown" href="/docs/${guide.name}.md">
    <script src="/docs/guides.js" defer></script>`,
    `<nav aria-label="Documentation"><a href="/docs/">API reference and search</a>${menu(guides, guide)}<a href="/docs/${guide.name}.md">This page as Markdown</a></nav>
    <main>${guide.html}</main>`,
  );

const referencePage = (guides, library) =>
  page(
    'Order service: API reference',
    '',
    `<noscript>
      This page needs JavaScript. The OpenAPI document is at <a href="/openapi.json">/openapi.json</a>, and these pages need none:
      ${menu(guides)}
    </noscript>
    <div id="docs"></div>
    <script src="${library}"></script>
    <script src="page.js"></script>`,
  );

/**
 * Scalar displays the document, with a tag for each guide: its search finds tags by name and text. No fonts, telemetry,
 * proxy or assistant of other hosts. Scalar makes the samples from the document.
 */
const referenceScript = (guides) => `const guides = ${JSON.stringify(guides.map(toTag))};
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

function toTag(guide) {
  const sections = guide.sections.map(({ id, title }) => `- [${title}](${urlOf(guide)}#${id})`);
  const description = [guide.summary, `**[Read the guide](${urlOf(guide)})**`, sections.join('\n')].join('\n\n');
  return { name: `guide-${guide.name}`, 'x-displayName': guide.title, description };
}

/** An index for programs that read the guides: see https://llmstxt.org. */
function llmsText(guides, examples) {
  const items = (pages) => pages.map((one) => `- [${one.title}](/docs/${one.name}.md)`).join('\n');
  return `# Order service

> An API for shops whose customers pay now by bank, or later through a lender. Amounts are in pounds (GBP), not pence.

## API

- [OpenAPI 3.1 document](/openapi.json): every call, field and error

## Guides

${items(guides)}

## Example shops and functions

${items(examples)}
`;
}

/**
 * Writes the files of /docs/ to a folder, and names and titles of the guides to a JSON file. The examples are not in the
 * menu.
 */
export function writeDocs(folder, list) {
  const guides = GUIDES.map((file) => render(nameOf(file), file, readFileSync(file, 'utf8')));
  const folders = readdirSync(EXAMPLES, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const examples = [EXAMPLES, ...folders.map(({ name }) => `${EXAMPLES}/${name}`)].map(examplesPage);
  const scalar = readFileSync(SCALAR);
  const library = `scalar-${createHash('sha256').update(scalar).digest('base64url').slice(0, 22)}.js`;
  const files = {
    'index.html': referencePage(guides, library),
    'page.js': referenceScript(guides),
    'guides.css': readFileSync('tools/guides.css'),
    'guides.js': readFileSync('tools/guides.js'),
    'llms.txt': llmsText(guides, examples),
    [library]: gzipSync(scalar),
  };
  for (const guide of [...guides, ...examples]) {
    files[`${guide.name}/index.html`] = guidePage(guides, guide);
    files[`${guide.name}.md`] = guide.text;
  }
  rmSync(folder, { recursive: true, force: true });
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.join(folder, path.dirname(name)), { recursive: true });
    writeFileSync(path.join(folder, name), content);
  }
  writeFileSync(list, JSON.stringify(guides.map(({ name, title }) => ({ name, title }))));
}
