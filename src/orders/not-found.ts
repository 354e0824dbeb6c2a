import { Problem } from '../contracts/problem';

/** The same response for a missing resource, another seller's resource and a malformed id. */
export function notFound(): Problem {
  return new Problem('not_found', 'The resource does not exist or belongs to another seller.');
}
