import { type Config, loadConfig } from '../../src/config';

/** The API's default HTTP settings. */
export const HTTP: Config['http'] = loadConfig({
  DATABASE_URL: 'postgres://localhost/orders',
  CHECKOUT_BASE_URL: 'http://localhost',
}).http;
