import { createHash } from 'node:crypto';
import type { CreateOrderRequest } from '../contracts/request-schemas';

/** The first byte of a digest, so that a change of the digest can still compare older ones. */
const DIGEST_VERSION = Buffer.of(1);

/** Digest of a request's meaning: the schema fixes the order of its fields, and the keys of `meta_data` are sorted. */
export function toRequestDigest(request: CreateOrderRequest): Buffer {
  const canonical = { ...request, meta_data: request.meta_data && sortKeys(request.meta_data) };
  return Buffer.concat([DIGEST_VERSION, createHash('sha256').update(JSON.stringify(canonical)).digest()]);
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const sorted = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(sorted.map(([key, child]) => [key, sortKeys(child)]));
}
