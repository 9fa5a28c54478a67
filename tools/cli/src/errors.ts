/** The command line or a variable has an invalid value; nothing was done. Exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The command failed; the message says why and what to do next. Exit code 1. */
export class CliError extends Error {
  override readonly name: string = 'CliError';
}

/** A server reported that it cannot start, and that a retry will not help. */
export class ServerStartError extends CliError {
  override readonly name = 'ServerStartError';
  readonly code: string;
  /** In the words of the server. */
  readonly reason: string;

  constructor(server: string, code: string, reason: string) {
    super(`the ${server} cannot start: ${reason}`);
    this.code = code;
    this.reason = reason;
  }
}
