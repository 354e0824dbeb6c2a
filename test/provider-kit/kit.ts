import { existsSync } from 'node:fs';
import path from 'node:path';
import { PACKAGE_ROOT } from '../../src/package';
import { type Check, runChecks } from './checks';
import { type LenderKit, lenderChecks } from './lender-checks';
import { type PaymentKit, paymentChecks } from './payment-checks';

/** A file of this repository that names what to check. Either export may be missing. */
interface KitModule {
  lender?: () => LenderKit | Promise<LenderKit>;
  payments?: () => PaymentKit | Promise<PaymentKit>;
}

/** `npm run provider-kit -- <file>`: checks an adapter of a lender or of a payment provider. */
async function main([file]: string[]): Promise<number> {
  if (file === undefined) {
    console.error('Name a file, such as test/provider-kit/sandbox.ts. See docs/lenders/connect.md.');
    return 2;
  }
  if (!existsSync(file)) {
    console.error(`There is no file ${file}.`);
    return 2;
  }
  const source = path.relative(PACKAGE_ROOT, path.resolve(file)).replace(/\.ts$/, '.js');
  const { lender, payments } = (await import(path.join(PACKAGE_ROOT, 'dist', source))) as KitModule;
  const checks: Check[] = [
    ...(lender ? lenderChecks(await lender()) : []),
    ...(payments ? paymentChecks(await payments()) : []),
  ];
  if (checks.length === 0) {
    console.error(`${file} exports neither \`lender\` nor \`payments\`.`);
    return 2;
  }
  const { failed } = await runChecks(checks);
  console.log(`\n${checks.length - failed.length} of ${checks.length} checks passed.`);
  return failed.length === 0 ? 0 : 1;
}

// Ends the process even if an adapter keeps a connection open.
void main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error);
    process.exit(2);
  },
);
