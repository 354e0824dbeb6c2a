import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import Router from '@koa/router';
import { PACKAGE_ROOT } from '../package';
import type { OpenApiDocument } from '../contracts/openapi/document';
import type { State } from './context';

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

/** Everything on the pages is same-origin. Scripts are files of this server only. */
const policy = (more: string): string =>
  `default-src 'none'; script-src 'self'; ${more}; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
const GUIDE_POLICY = policy("style-src 'self'");
/** Scalar, the library that displays the document, sets its styles by script. */
const REFERENCE_POLICY = policy("style-src 'self' 'unsafe-inline'; connect-src 'self'");

/** Serves constants. The name of the library changes with its content, which the build compresses: all browsers expect that. */
export function docsRoutes(document: OpenApiDocument): Router<State> {
  const router = new Router<State>({ sensitive: true });
  const serve = (route: string, type: string, content: string | Buffer, headers: Record<string, string> = {}): void => {
    router.get(route, (ctx) => {
      ctx.set(headers);
      ctx.type = type;
      ctx.body = content;
    });
  };
  serve('/openapi.json', 'json', JSON.stringify(document));
  router.get('/', (ctx) => ctx.redirect('/docs/'));
  router.get('/docs', async (ctx, next) => {
    if (ctx.path === '/docs') {
      ctx.status = 308;
      ctx.redirect('/docs/');
    } else await next();
  });
  for (const [route, file] of PAGES) {
    serve(route, path.extname(file), readFileSync(file), {
      'Content-Security-Policy': route === '/docs' ? REFERENCE_POLICY : GUIDE_POLICY,
      ...(route.startsWith('/docs/scalar-') && {
        'Cache-Control': 'public, max-age=31536000, immutable',
        'Content-Encoding': 'gzip',
      }),
    });
  }
  return router;
}
