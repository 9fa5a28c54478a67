import type { Decision, ProblemCode } from '@callboard/contract';

/** Errors are told apart by type, never by their text. Anything that is none of these is a bug of ours. */
export abstract class AppError extends Error {
  abstract readonly kind: 'rejection' | 'protocol' | 'operational';
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** A rule said no to a command. The message is for the person who gave it: what, why, what to do. */
export class Rejection extends AppError {
  readonly kind = 'rejection';
  declare readonly code: ProblemCode;
  /** With `already_decided` and `request_closed`: the decision that stands. */
  readonly decision: Decision | undefined;

  constructor(code: ProblemCode, message: string, options?: ErrorOptions & { decision?: Decision | undefined }) {
    super(code, message, options);
    this.decision = options?.decision;
  }
}

/** The other side of a wire broke the contract. */
export class ProtocolError extends AppError {
  readonly kind = 'protocol';
}

/** Disk, database, git or a child process failed; the same may work later. */
export class OperationalError extends AppError {
  readonly kind = 'operational';
}

/** Re-exported so that one import brings all that is needed to handle an error. */
export { messageOf, systemCode } from '@callboard/runtime/errors';
