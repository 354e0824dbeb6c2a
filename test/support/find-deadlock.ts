/** Returns the first deadlock in Postgres' log, with the statements that waited for each other. */
export function findDeadlock(log: string): string | undefined {
  return /.*ERROR: {2}deadlock detected\n(?:(?!.*LOG: {2}).*\n){0,40}/.exec(log)?.[0];
}
