import { run } from './cli/run';

/** The entry point of `npm run cli -- …`. */
process.exitCode = 1;
void run(process.argv.slice(2), process.env).then((code) => (process.exitCode = code));
