/** Ends this process with the code that a command resolves to. If it rejects, prints the error and ends with 1. */
export function exitWith(command: Promise<number>): void {
  void command.then(
    (code) => process.exit(code),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
}
