import type { Config } from '../../src/config';
import { loadConfig } from '../../src/config';

/** What the API is set to where nothing is said. */
export const HTTP: Config['http'] = loadConfig({
  DATABASE_URL: 'postgres://localhost/orders',
  CHECKOUT_BASE_URL: 'http://localhost',
}).http;
