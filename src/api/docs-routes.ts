import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import Router from '@koa/router';
import { PACKAGE_ROOT } from '../package';
import type { OpenApiDocument } from '../contracts/openapi/document';
import type { Context, State } from './context';
import {
  GUIDE_POLICY,
  REFERENCE_POLICY,
  renderGuide,
  renderReference,
  renderScript,
  EXAMPLES,
  GUIDES,
} from './docs-page';

/** The library that displays the document. `npm run build` copies it. */
const SCALAR = path.join(PACKAGE_ROOT, 'dist/scalar.js');

const STYLESHEET = path.join(__dirname, 'guides.css');

export function docsRoutes(document: OpenApiDocument): Router<State> {
  const router = new Router<State>({ sensitive: true });
  router.get('/openapi.json', serveFile('json', JSON.stringify(document)));
  router.get('/', (ctx) => ctx.redirect('/docs/'));
  const scalar = readFileSync(SCALAR);
  const name = `scalar-${digestOf(scalar)}.js`;
  const page = serveFile('html', renderReference(name), { policy: REFERENCE_POLICY });
  router.get('/docs', (ctx) => {
    if (ctx.path.endsWith('/')) {
      page(ctx);
      return;
    }
    ctx.status = 308;
    ctx.redirect('/docs/');
  });
  router.get('/docs/page.js', serveFile('js', renderScript()));
  router.get('/docs/guides.css', serveFile('css', readFileSync(STYLESHEET)));
  for (const guide of [...GUIDES, ...EXAMPLES])
    router.get(`/docs/${guide.name}`, serveFile('html', renderGuide(guide), { policy: GUIDE_POLICY }));
  const library = serveFile('js', scalar, { immutable: true });
  router.get('/docs/scalar-:digest.js', (ctx, next) => (ctx.path === `/docs/${name}` ? library(ctx) : next()));
  return router;
}

const digestOf = (content: string | Buffer): string =>
  createHash('sha256').update(content).digest('base64url').slice(0, 22);

interface FileOptions {
  /** Content-Security-Policy of an HTML page. */
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
