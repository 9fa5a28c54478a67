/** The command line, or a variable, says something that cannot be: nothing was done. Exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** It could not be done; the message says why and what to do next. Exit code 1. */
export class OperationalError extends Error {
  override readonly name: string = 'OperationalError';
}

/** A server said that it cannot start, and that trying again will not help. */
export class ServerFailed extends OperationalError {
  override readonly name = 'ServerFailed';
  readonly code: string;
  /** In the words of the server. */
  readonly reason: string;

  constructor(server: string, code: string, reason: string) {
    super(`the ${server} cannot start: ${reason}`);
    this.code = code;
    this.reason = reason;
  }
}
