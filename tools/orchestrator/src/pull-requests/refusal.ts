import { type FinishProblem, type ProblemCode, visibleText } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { AppError, Rejection } from '../lib/errors.ts';

/** A rejection with a next step outside of Callboard. */
export class Refusal extends Rejection {
  /** A command for a terminal. */
  readonly command: string | null;
  /** A page for a person. */
  readonly url: string | null;

  constructor(
    code: ProblemCode,
    message: string,
    { command = null, url = null }: { command?: string | null; url?: string | null } = {},
  ) {
    super(code, message);
    this.command = command;
    this.url = url;
  }

  /** Returns the same refusal with a page, unless it has one. */
  withUrl(url: string | null): Refusal {
    return this.url !== null || url === null ? this : new Refusal(this.code, this.message, { ...this, url });
  }
}

/** Returns a failure as it is stored and shown. */
export function problemOf(error: unknown): FinishProblem {
  const { command, url } = error instanceof Refusal ? error : { command: null, url: null };
  const code = error instanceof AppError ? error.code : 'internal';
  return { code, message: visibleText(messageOf(error), 'prose'), command, url };
}
