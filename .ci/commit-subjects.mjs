// Checks the subject of each commit since BASE: `area: what changes`, imperative, at most 72 characters. Older commits
// stay as they are. A clone that lacks BASE, such as a shallow one, checks its newest commit only.
import { execFileSync } from 'node:child_process';

const BASE = '0e287c61539482938f5a12cd24160f8a1e4810a9';

const git = (...args) => execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();

function range() {
  try {
    git('merge-base', '--is-ancestor', BASE, 'HEAD');
    return [`${BASE}..HEAD`];
  } catch {
    return ['-1'];
  }
}

/** Verbs in another form than the imperative: "added", "fixes", "moving". */
const NOT_IMPERATIVE =
  /^(?!need|feed|seed|speed|embed|bring|ping|process|pass|address|focus|access|compress|alias)\w+(ed|ing|s)$/;

function faultOf(subject) {
  if (subject.length > 72) return 'has more than 72 characters';
  const [, verb] = /^\w[\w ,.-]*: ([a-z]\S*) \S/.exec(`${subject} .`) ?? [];
  if (verb === undefined) return 'is not "area: what changes"';
  return NOT_IMPERATIVE.test(verb) ? `begins with "${verb}", which is not imperative` : undefined;
}

const subjects = git('log', '--no-merges', '--format=%s', ...range())
  .split('\n')
  .filter(Boolean);
const faults = subjects.flatMap((subject) => (faultOf(subject) ? [`${subject}\n  ${faultOf(subject)}`] : []));
for (const fault of faults) console.error(fault);
console.log(`${subjects.length} commit subjects, ${faults.length} wrong`);
process.exitCode = faults.length > 0 ? 1 : 0;
