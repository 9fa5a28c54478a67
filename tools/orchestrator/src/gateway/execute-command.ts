import {
  type CommandError,
  CommandFrame,
  type CommandType,
  commands,
  ProblemCode,
  type ReplyFrame,
} from '@callboard/contract';
import { mark } from '@callboard/runtime/marks';
import { z } from 'zod';
import type { Logins } from '../auth/logins.ts';
import { AppError, Rejection } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { troubleOf } from '../store/storage-failure.ts';
import type { CommandContext, CommandHandlers } from './commands/command-handler.ts';

const UNNAMED = { name: 'someone' };

export interface ExecutionParts {
  handlers: CommandHandlers;
  logins: Pick<Logins, 'check'>;
  log: Logger;
}

/**
 * Reads one frame of a client, carries the command out, and returns the reply that it is owed; null without an `id`.
 * The credential of the frame is checked here, right before the command: one that was revoked is refused at once.
 */
export async function executeCommand(
  { handlers, logins, log }: ExecutionParts,
  text: string,
  watch: CommandContext['watch'],
): Promise<ReplyFrame | null> {
  const raw = parseJson(text);
  const id = idOf(raw);
  try {
    const { type, id: _id, actor: given, credential, ...fields } = CommandFrame.parse(raw);
    const login = credential === undefined ? null : logins.check(credential);
    const actor = login?.actor ?? given ?? UNNAMED;
    const data = await dispatch(handlers, type, fields, { actor, login, watch });
    return id === undefined ? null : { type: 'reply', id, ok: true, data };
  } catch (error) {
    const told = commandError(error, log);
    return id === undefined ? null : { type: 'reply', id, ok: false, error: told };
  }
}

/** Also of a frame that is not understood: whoever sent it waits. */
function idOf(raw: unknown): string | undefined {
  if (typeof raw !== 'object' || raw === null || !('id' in raw)) return undefined;
  return typeof raw.id === 'string' ? raw.id : undefined;
}

async function dispatch<T extends CommandType>(
  handlers: CommandHandlers,
  type: T,
  fields: object,
  context: CommandContext,
): Promise<unknown> {
  const schema: z.ZodType = commands[type].input;
  // The schema is the one that belongs to this handler: one table holds both.
  const input = schema.parse(fields) as Parameters<CommandHandlers[T]>[0];
  mark('command dispatched', type);
  return handlers[type](input, context);
}

function commandError(error: unknown, log: Logger): CommandError {
  if (error instanceof Rejection) {
    return {
      code: error.code,
      message: error.message,
      ...(error.decision === undefined ? {} : { decision: error.decision }),
    };
  }
  if (error instanceof z.ZodError) return { code: 'bad_request', message: z.prettifyError(error) };
  log.error({ err: error }, 'a command failed');
  const trouble = troubleOf(error);
  if (trouble !== null) return { code: 'storage_failed', message: `The store cannot be read: ${trouble.words}` };
  if (error instanceof AppError && error.kind === 'operational') {
    return { code: ProblemCode.safeParse(error.code).data ?? 'storage_failed', message: error.message };
  }
  return {
    code: 'internal',
    message: 'Something went wrong inside of Callboard; its log says what. Nothing is known to be lost.',
  };
}

/** The halves of a surrogate pair, written as escapes: alone they are no character. */
const SURROGATE = /\\u[dD][89a-fA-F]/;

/** What is no character becomes U+FFFD here, so that everybody reads what Claude is told, which UTF-8 could not carry otherwise. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), wellFormed(inner)]));
}

function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return SURROGATE.test(text) ? wellFormed(value) : value;
  } catch {
    return undefined;
  }
}
