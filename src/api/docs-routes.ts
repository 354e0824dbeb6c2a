import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import Router from '@koa/router';
import { PACKAGE_ROOT } from '../package';
import type { OpenApiDocument } from '../contracts/openapi/document';
import type { Context, State } from './context';

/** `npm run build` writes the documentation: see tools/guides.mjs. */
const DOCS = path.join(PACKAGE_ROOT, 'dist/docs');

/** The guides for sellers, in the order of the menu. They are at `/docs/<name>/`. */
export const GUIDES = JSON.parse(readFileSync(path.join(PACKAGE_ROOT, 'dist/guides.json'), 'utf8')) as {
  name: string;
  title: string;
}[];

/** The files of the documentation by their paths. */
export const PAGES = new Map(
  readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
    .filter((name) => path.extname(name) !== '')
    .map((name) => [pathOf(name), path.join(DOCS, name)]),
);

function pathOf(name: string): string {
  // Programs look for it there.
  return name === 'llms.txt' ? '/llms.txt' : `/docs/${name}`.replace(/\/index\.html$/, '');
}

/**
 * Everything on the page is same-origin. Scalar, the library that displays the document, sets its styles by script,
 * which needs 'unsafe-inline' for styles. Scripts are files of this server only.
 */
const REFERENCE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The only script adds the buttons that copy code. */
const GUIDE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'";

export function docsRoutes(document: OpenApiDocument): Router<State> {
  const router = new Router<State>({ sensitive: true });
  router.get('/openapi.json', serveFile('json', JSON.stringify(document)));
  router.get('/', (ctx) => ctx.redirect('/docs/'));
  for (const [route, file] of PAGES) {
    const options = {
      policy: route === '/docs' ? REFERENCE_POLICY : GUIDE_POLICY,
      immutable: route.startsWith('/docs/scalar-'),
    };
    const serve = serveFile(path.extname(file), readFileSync(file), options);
    router.get(route, (ctx) => (ctx.path === '/docs' ? addSlash(ctx) : serve(ctx)));
  }
  return router;
}

function addSlash(ctx: Context): void {
  ctx.status = 308;
  ctx.redirect('/docs/');
}

const digestOf = (content: Buffer): string => createHash('sha256').update(content).digest('base64url').slice(0, 22);

interface FileOptions {
  /** Content-Security-Policy. */
  policy?: string;
  /**
   * The name changes with the content, so that browsers load it once. Compressed for every caller, as all browsers
   * expect: 60 bytes of a request would otherwise cost 3.5 MB.
   */
  immutable?: boolean;
}

/** Serves a constant. Compression and digest run once. */
function serveFile(
  type: string,
  text: string | Buffer,
  { policy, immutable = false }: FileOptions = {},
): (ctx: Context) => void {
  // Responses that are not read yet share it.
  const content = Buffer.from(text);
  const headers = {
    ...(immutable
      ? { 'Cache-Control': 'public, max-age=31536000, immutable' }
      : { 'Cache-Control': 'no-cache', ETag: `W/"${digestOf(content)}"`, Vary: 'Accept-Encoding' }),
    ...(policy !== undefined && { 'Content-Security-Policy': policy }),
  };
  let gzipped: Buffer | undefined;
  return (ctx) => {
    ctx.set(headers);
    ctx.status = 200;
    if (ctx.fresh) {
      ctx.status = 304;
      return;
    }
    ctx.type = type;
    if (immutable || ctx.acceptsEncodings('gzip', 'identity') === 'gzip') {
      ctx.set('Content-Encoding', 'gzip');
      ctx.body = gzipped ??= gzipSync(content);
    } else {
      ctx.body = content;
    }
  };
}
