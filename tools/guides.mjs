// Renders the guides for sellers, and the examples that they link to, for /docs/.
import { readFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
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
  'api-guide',
  'errors',
  'clients',
  'going-live',
].map((name) => `docs/sellers/${name}.md`);
const EXAMPLES = 'examples';
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
  marked.walkTokens(tokens, (token) => {
    if (token.type !== 'link' || /^(https?|mailto):/.test(token.href)) return;
    const [target, anchor] = token.href.split('#');
    const served = target === '' ? '' : pathOf(path.posix.join(path.dirname(file), target));
    // A text token has no link.
    if (served === undefined) Object.assign(token, { type: 'text', text: token.text });
    else token.href = anchor === undefined ? served : `${served}#${anchor}`;
  });
  const html = marked.parser(tokens).replace(/<h([1-4])>(.*?)<\/h\1>/g, (_, level, heading) => {
    const id = anchorOf(textOf(heading));
    if (level === '2' || level === '3') sections.push({ id, title: textOf(heading) });
    return `<h${level} id="${id}">${heading}</h${level}>`;
  });
  const [, title] = /<h1 [^>]*>(.*?)<\/h1>/.exec(html) ?? [];
  if (title === undefined) throw new Error(`${file} has no title`);
  const [, summary = ''] = /<p>(.*?)<\/p>/s.exec(html) ?? [];
  return { name, title: textOf(title), summary: textOf(summary), sections, html };
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

/** Every page with its path below /docs/, its title, its sections and its HTML; guides first. */
export function renderGuides() {
  const folders = readdirSync(EXAMPLES, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return {
    guides: GUIDES.map((file) => render(nameOf(file), file, readFileSync(file, 'utf8'))),
    examples: [EXAMPLES, ...folders.map(({ name }) => `${EXAMPLES}/${name}`)].map(examplesPage),
  };
}
