import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { operations } from '../../support/contract';
import { installed } from '../../support/installed';
import { useStack } from '../../support/stack';

const stack = useStack({ worker: false, sandbox: true });
const PROGRAMS: Record<string, [command: string, ...args: string[]]> = {
  curl: ['bash', '-c'],
  PHP: ['php', '-r'],
  Python: ['python3', '-c'],
};
const CHECKS: Record<string, [string, ...string[]]> = {
  curl: ['curl', '--version'],
  PHP: ['php', '-r', 'curl_init();'],
  Python: ['python3', '--version'],
};

test.each(installed(Object.keys(PROGRAMS), (label) => CHECKS[label]!))(
  'the %s sample creates a new order each time that it is run',
  async (label) => {
    const { operation } = operations.find((one) => one.operation.operationId === 'createOrder')!;
    const samples = (operation as unknown as { 'x-codeSamples': { label: string; source: string }[] })['x-codeSamples'];
    const { source } = samples.find((sample) => sample.label === label)!;
    const [command, ...args] = PROGRAMS[label]!;
    const { PATH } = process.env;
    const env = { PATH, ORDERS_URL: stack.api.url, SELLER_ID: stack.seller.id, SELLER_API_KEY: stack.seller.key };
    const run = () => promisify(execFile)(command, [...args, source.replace(/^<\?php/, '')], { env });
    const ids = [await run(), await run()].map(({ stdout }) => /'?"?id'?"?: ?['"]([0-9a-f-]{36})/.exec(stdout)?.[1]);
    expect(ids).toEqual([expect.any(String), expect.any(String)]);
    expect(ids[0]).not.toBe(ids[1]);
  },
);
