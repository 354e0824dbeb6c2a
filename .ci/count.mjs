// Adds up Jest's JSON reports, and those of `npm run chaos -- --report <file>`: `node .ci/count.mjs <report>...`. Fails
// if a test failed or was skipped, or if a report is missing or empty.
import { existsSync, readFileSync } from 'node:fs';

let [passed, failed, skipped] = [0, 0, 0];
for (const file of process.argv.slice(2)) {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const report = text === '' ? { numPassedTests: 0 } : JSON.parse(text);
  if (report.numPassedTests === 0) console.log(`${file}: no test passed.`);
  passed += report.numPassedTests;
  // A test file or a run that crashes counts as one failure.
  const failures = (report.numFailedTests ?? 0) + (report.numRuntimeErrorTestSuites ?? 0);
  failed += failures > 0 || (report.success && report.numPassedTests > 0) ? failures : 1;
  skipped += (report.numPendingTests ?? 0) + (report.numTodoTests ?? 0);
}
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
if (passed === 0 || failed > 0 || skipped > 0) process.exitCode = 1;
