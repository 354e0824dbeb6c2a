/** The 12 cells that have found most, for CI. */
export const SHORT = ['SIGKILL a worker'];
