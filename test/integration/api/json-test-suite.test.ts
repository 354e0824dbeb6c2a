import { randomUUID } from 'node:crypto';
import { type ApiResponse, BASE } from '../../support/api';
import { inBatches } from '../../support/in-batches';
import { type JsonCase, jsonTestSuite } from '../../support/json-test-suite';
import { expectProblem } from '../../support/problems';
import { useSharedStack } from '../../support/shared-stack';

/** Maximum size of a body. */
const LIMIT = 64 * 1024;
/** Ends a call that hangs. */
const HANG_MS = 60_000;

const SUITE = jsonTestSuite();
const kind = (prefix: string) => SUITE.filter(({ name }) => name.startsWith(prefix));

const stack = useSharedStack();
let orderId: string;
beforeAll(async () => {
  orderId = (await stack.api.create()).body.data.id;
});

/** Every call that takes a body. */
const CALLS: Record<string, () => { path: string; key: string }> = {
  create: () => ({ path: `/seller/${stack.seller.id}/order/`, key: stack.seller.key }),
  progress: () => ({ path: `/order/${orderId}/progress/`, key: stack.api.checkoutKey }),
  'webhook_secret/rotate': () => ({
    path: `/seller/${stack.seller.id}/webhook_secret/rotate/`,
    key: stack.seller.key,
  }),
  'webhook_event/resend': () => ({
    path: `/seller/${stack.seller.id}/webhook_event/resend/`,
    key: stack.seller.key,
  }),
  webhook_test: () => ({ path: `/seller/${stack.seller.id}/webhook_test/`, key: stack.seller.key }),
};

async function send(call: string, body: Buffer | string): Promise<ApiResponse> {
  const { path, key } = CALLS[call]!();
  const response = await fetch(stack.api.url + BASE + path, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body,
    signal: AbortSignal.timeout(HANG_MS),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}

test('JSONTestSuite is complete', () => {
  expect(['y_', 'n_', 'i_'].map((prefix) => kind(prefix).length)).toEqual([95, 188, 35]);
});

describe.each(Object.keys(CALLS))('in the %s call,', (call) => {
  const codes = (cases: JsonCase[]) =>
    inBatches(cases, 20, async ({ name, bytes }) => {
      const response = await send(call, bytes);
      return `${name}: ${expectProblem(response, response.status, response.body.code as string).code}`;
    });

  test('a body that is not JSON returns 400', async () => {
    // This call accepts an empty body.
    const optional = (name: string) => call.endsWith('rotate') && name === 'n_structure_no_data';
    const cases = kind('n_').filter(({ name }) => !optional(name));
    expect(await codes(cases)).toEqual(
      cases.map(({ name, bytes }) => `${name}: ${bytes.length > LIMIT ? 'payload_too_large' : 'malformed_json'}`),
    );
  });

  test('JSON that is not a valid request returns 422', async () => {
    const cases = kind('y_');
    expect(await codes(cases)).toEqual(cases.map(({ name }) => `${name}: invalid_request`));
  });

  test('a body that parsers may accept or reject returns 400 or 422', async () => {
    for (const response of await codes(kind('i_'))) expect(response).toMatch(/: (malformed_json|invalid_request)$/);
  });
});

describe('in meta_data,', () => {
  const wrap = ({ bytes }: JsonCase, reference: string) =>
    Buffer.concat([
      Buffer.from(`{"data":{"amount":1,"reference":"${reference}","meta_data":{"value":`),
      bytes,
      Buffer.from('}}}'),
    ]);
  /** The returned value, or the error code. */
  const roundTrips = (cases: JsonCase[]) =>
    inBatches(cases, 20, async (one) => {
      const response = await send('create', wrap(one, randomUUID()));
      if (response.status !== 201) {
        return [one.name, expectProblem(response, response.status, response.body.code as string).errors[0]!.code];
      }
      return [one.name, (await stack.api.get(response.body.data.id)).body.data.meta_data.value];
    });

  /** Values that many parsers cannot read, and duplicate keys. */
  const REFUSED: Record<string, string> = {
    y_object_duplicated_key: 'duplicate_key',
    y_object_duplicated_key_and_value: 'duplicate_key',
    y_object_escaped_null_in_key: 'invalid_characters',
    y_string_null_escape: 'invalid_characters',
  };
  const UNCHANGED = 'unchanged';
  /** Without the sign of -0, which JSON.stringify does not write. */
  const parsed = ({ bytes }: JsonCase): unknown => JSON.parse(JSON.stringify(JSON.parse(bytes.toString())));
  /** Results for the `i_` files, which a parser may accept or reject. */
  const UNDEFINED_BEHAVIOUR: [RegExp, string][] = [
    [/^i_number_/, UNCHANGED],
    [/^i_(object_key_lone|string_(1st|incomplete|inverted|lone_second|invalid_(lonely_)?surr))/, 'invalid_characters'],
    [/^i_structure_500_nested_arrays$/, 'too_deep'],
    [/^i_/, 'malformed_json'],
  ];

  test('a valid JSON value is returned', async () => {
    const cases = kind('y_');
    expect(await roundTrips(cases)).toEqual(
      cases.map(({ name, bytes }) => [name, REFUSED[name] ?? parsed({ name, bytes })]),
    );
  });

  test('invalid JSON is refused', async () => {
    const cases = kind('n_');
    expect(await roundTrips(cases)).toEqual(
      cases.map(({ name, bytes }) => [name, bytes.length > LIMIT ? 'payload_too_large' : 'malformed_json']),
    );
  });

  test('a value that parsers may accept or reject is never returned as another value than that of JSON.parse', async () => {
    const cases = kind('i_');
    const expected = ({ name, bytes }: JsonCase) => {
      const result = UNDEFINED_BEHAVIOUR.find(([pattern]) => pattern.test(name))![1];
      if (result !== UNCHANGED) return result;
      return Number.isFinite(JSON.parse(bytes.toString())[0]) ? parsed({ name, bytes }) : 'invalid_value';
    };
    expect(await roundTrips(cases)).toEqual(cases.map((one) => [one.name, expected(one)]));
  });
});
