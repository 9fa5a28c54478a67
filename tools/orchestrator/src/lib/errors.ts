import type { Decision, ProblemCode } from '@callboard/contract';

/** An error of a known kind. Code tells errors apart by their type, never by their text. Any other error is a bug in Callboard. */
export abstract class AppError extends Error {
  abstract readonly kind: 'rejection' | 'protocol' | 'operational';
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** A rule refuses a command. The message is for the person who gave the command: what is wrong, why, and what to do. */
export class Rejection extends AppError {
  readonly kind = 'rejection';
  declare readonly code: ProblemCode;
  /** Comes with `already_decided` and `request_closed`: the decision that stands. */
  readonly decision: Decision | undefined;

  constructor(code: ProblemCode, message: string, options?: ErrorOptions & { decision?: Decision | undefined }) {
    super(code, message, options);
    this.decision = options?.decision;
  }
}

/** The other end of a connection or a pipe broke the contract. */
export class ProtocolError extends AppError {
  readonly kind = 'protocol';
}

/** The disk, the database, git or a child process failed. A retry may succeed. */
export class OperationalError extends AppError {
  readonly kind = 'operational';
}

/** Returns a sentence about files that somebody else changed while git moved a checkout. */
export const changedMeanwhile = (files: readonly string[]): string =>
  `Somebody else changed ${files.slice(0, 5).join(', ')}${files.length > 5 ? ` and ${files.length - 5} more` : ''} meanwhile; Callboard left that as it is.`;
