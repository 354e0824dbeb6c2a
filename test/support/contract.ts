import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { GUIDES } from '../../src/api/docs-routes';
import { type OpenApiDocument, createOpenApiDocument } from '../../src/contracts/openapi/document';
import { VERSION } from '../../src/package';
import type { ApiResponse } from './api';
import { HTTP } from './http-settings';

const rules = { maxAmountPence: 1_000_000_000, httpsOnly: false, checkWebhookUrl: () => undefined };
/** The document that a service with test settings shows. */
export const document: OpenApiDocument = createOpenApiDocument({
  api: { basePaths: ['/api/lending/edge/ecommerce'] },
  rules,
  maxBodyBytes: HTTP.maxBodyBytes,
  version: VERSION,
  guides: GUIDES,
});

const ROOT = 'openapi.json';
const PROBLEM_TYPE = 'application/problem+json';
/** Headers that HTTP itself adds, and one for browsers that every response has. */
const HTTP_HEADERS = ['connection', 'content-encoding', 'content-length', 'content-type', 'date', 'keep-alive'].concat(
  'x-content-type-options',
  'access-control-allow-origin',
  'transfer-encoding',
);
/** A setting gives this header its name, so the document cannot list it. */
const SIGNATURE_HEADER = 'x-shop-signature';
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats(ajv);
ajv.addSchema(closed(document), ROOT);
const validators = new Map<string, ValidateFunction>();

/** Returns the schema with every object closed, so that an undocumented property fails the test. */
function closed(node: any): any {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== 'object' || node === null) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closed(value)]));
  const isOpen = copy.type === 'object' && copy.properties && copy.additionalProperties === undefined;
  return isOpen ? { ...copy, unevaluatedProperties: false } : copy;
}

export interface DocumentedOperation {
  method: string;
  path: string;
  /** The operation's location in the document: the keys from the root. */
  place: string[];
  operation: any;
}

export const operations: DocumentedOperation[] = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
  METHODS.filter((method) => method in item).map((method) => ({
    method: method.toUpperCase(),
    path,
    place: ['paths', path, method],
    operation: item[method as 'get'],
  })),
);

/** Returns the value at `place` and its location, after following references. */
export function resolve(place: readonly string[]): { place: string[]; value: any } {
  const value = place.reduce<any>((node, key) => node?.[key], document);
  if (typeof value?.$ref !== 'string' || 'properties' in value) return { place: [...place], value };
  return resolve(value.$ref.slice(2).split('/').map(unescape));
}
const unescape = (key: string): string => decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~');
const escape = (key: string): string => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));

/** Validates a value against the schema at a location in the document. Returns the errors. */
export function misfits(place: readonly string[], value: unknown): string[] {
  const $ref = `${ROOT}#/${place.map(escape).join('/')}`;
  const validate = validators.get($ref) ?? ajv.compile({ $ref });
  validators.set($ref, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    (error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
  );
}

/** Finds the operation of a call. Returns `no method` if the path exists with other methods only. */
function operationAt(method: string, path: string): DocumentedOperation | 'no method' | undefined {
  const [pathname = ''] = path.split('?');
  const candidates = operations.filter((one) => pattern(one.path).test(pathname));
  if (candidates.length === 0) return undefined;
  return candidates.find((one) => one.method === (method === 'HEAD' ? 'GET' : method)) ?? 'no method';
}

function pattern(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+').replace(/\/$/, '/?')}$`, 'i');
}

/** @throws Error if a response does not match the document */
export function expectDocumented(method: string, path: string, response: ApiResponse): void {
  const found = operationAt(method, path);
  if (found === undefined || (found === 'no method' && method === 'OPTIONS')) return;
  const wrong =
    found === 'no method'
      ? wrongMethodNotAllowed(response)
      : wrongResponse(method, responsePlace(found, response), response);
  if (wrong.length > 0) {
    throw new Error(
      [`${method} ${path} ${response.status} does not match the document:`, ...wrong, response.text].join('\n  '),
    );
  }
}

/** The document describes this response in words, because it belongs to no operation. */
function wrongMethodNotAllowed({ status, headers, body }: ApiResponse): string[] {
  if (status !== 405) return ['the document does not list the method'];
  return [
    ...(headers.has('Allow') ? [] : ['the header Allow is missing']),
    ...(body === undefined || body.code === 'method_not_allowed' ? [] : ['the code is not method_not_allowed']),
    ...(body === undefined ? [] : misfits(['components', 'schemas', 'Problem'], body)),
  ];
}

function wrongResponse(method: string, place: string[], response: ApiResponse): string[] {
  return [...wrongHeaders(place, response), ...(method === 'HEAD' ? [] : wrongBody(place, response))];
}

function responsePlace({ place }: DocumentedOperation, { status }: ApiResponse): string[] {
  return resolve([...place, 'responses', String(status)]).place;
}

function wrongHeaders(place: string[], { headers }: ApiResponse): string[] {
  const response = resolve(place).value;
  if (response === undefined) return ['the status is not documented'];
  const documented = Object.keys(response.headers ?? {});
  const known = [...HTTP_HEADERS, SIGNATURE_HEADER, ...documented.map((name) => name.toLowerCase())];
  const undocumented = [...headers.keys()].filter((name) => !known.includes(name));
  const misfitting = documented.flatMap((name) => {
    const header = resolve([...place, 'headers', name]);
    const value = headers.get(name);
    if (value === null) return header.value.required ? [`the header ${name} is missing`] : [];
    return misfits([...header.place, 'schema'], value).map((why) => `header ${name}: ${why}`);
  });
  return [...undocumented.map((name) => `the header ${name} is not documented`), ...misfitting];
}

function wrongBody(place: string[], response: ApiResponse): string[] {
  const content = Object.keys(resolve(place).value?.content ?? {});
  const type = response.headers.get('Content-Type')?.split(';')[0];
  if (type === undefined && content.length === 0) return [];
  if (type === undefined || !content.includes(type)) return [`the content type ${type} is not documented`];
  const wrong = misfits([...place, 'content', type, 'schema'], response.body);
  // The schema allows any code. The examples list the documented ones.
  const codes = type === PROBLEM_TYPE ? Object.keys(resolve(place).value.content[type].examples) : undefined;
  if (codes?.includes(response.body?.code) === false) wrong.push(`the code ${response.body?.code} is not documented`);
  return wrong;
}
