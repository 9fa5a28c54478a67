import { type CommandError, type Decision, type ProblemCode, problems } from '@callboard/contract';

/** An error with a stable code and a message for people. */
export abstract class AppError extends Error {
  abstract readonly kind: 'rejection' | 'protocol' | 'operational';
  readonly code: ProblemCode;

  constructor(code: ProblemCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** A rule forbids the request. Repeating it does not help. */
export class Rejection extends AppError {
  readonly kind = 'rejection';
  /** With a conflict: the decision that stands. */
  readonly decision: Decision | undefined;

  constructor(code: ProblemCode, message: string, decision?: Decision) {
    super(code, message);
    this.decision = decision;
  }
}

/** Something that Callboard depends on failed. Repeating the request may help. */
export class OperationalError extends AppError {
  readonly kind = 'operational';
}

/** There is no connection to the orchestrator; `reply_lost`: it ended before the reply to a command, which may have been executed. */
export class OrchestratorUnreachable extends OperationalError {
  constructor(message: string, code: 'orchestrator_unreachable' | 'reply_lost' = 'orchestrator_unreachable') {
    super(code, message);
  }
}

/** The other side broke the contract. */
export class ProtocolError extends AppError {
  readonly kind = 'protocol';

  constructor(message: string, options?: ErrorOptions) {
    super('internal', message, options);
  }
}

/** Returns the error for a refused command. */
export function fromCommandError({ code, message, decision }: CommandError): AppError {
  return problems[code].status < 500 ? new Rejection(code, message, decision) : new OperationalError(code, message);
}
