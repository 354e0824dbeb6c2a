import { run } from './cli/run';

/** The entry point of `npm run cli -- …`. */
void run(process.argv.slice(2), process.env).then((code) => (process.exitCode = code));
