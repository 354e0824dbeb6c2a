// Says how many tests passed and failed, by Jest's own report; fails if any did, or if none was run.
import { readFileSync } from 'node:fs';

const text = readFileSync(process.argv[2], 'utf8');
if (text === '') {
  console.log('The tests left no report.');
  process.exit(1);
}
const report = JSON.parse(text);
const passed = report.numPassedTests;
// A file that could not be run at all has no tests to count, and is one failure.
const failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
const skipped = report.numPendingTests + report.numTodoTests;
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exit(passed > 0 && failed === 0 && report.success ? 0 : 1);
