import { createHash } from 'node:crypto';
import {
  type CommandError,
  CommandFrame,
  type CommandType,
  type Credential,
  commands,
  type Idempotency,
  ProblemCode,
  type ReplyFrame,
  timeOf,
} from '@callboard/contract';
import { mark } from '@callboard/runtime/marks';
import { z } from 'zod';
import type { CommandContext, CommandHandlers } from '../core/commands/command-handler.ts';
import type { Authenticated, Logins } from '../core/commands/logins.ts';
import { AppError, Rejection } from '../lib/errors.ts';
import type { Logger } from '../platform/runtime.ts';
import type { StoredCommand } from '../store/ports/machine-port.ts';
import { storageErrorOf } from '../store/storage-error.ts';
import type { Callers, Unverified } from './callers.ts';

/** Finds the machine of a command. */
export interface CommandRouter {
  /** Reads a login that another machine may have made. */
  knowLogin(credential: Credential): Promise<void>;
  /** Executes the command where it belongs. Null: it belongs here. @throws what the other machine replied */
  route(type: CommandType, fields: Record<string, unknown>, context: CommandContext): Promise<{ data: unknown } | null>;
}

/** There is one machine. */
export const ALL_HERE: CommandRouter = { knowLogin: async () => undefined, route: async () => null };

/** The refusal of another machine, as it said it. */
export class RelayedError extends Error {
  readonly told: CommandError;
  constructor(reported: CommandError) {
    super(reported.message);
    this.told = reported;
  }
}

/** A command of another machine, as its credential was checked there. */
export type ForeignCommand = Pick<StoredCommand, 'type' | 'fields' | 'actor' | 'login'>;

const UNNAMED = { name: 'someone' };

export interface ExecutionDeps {
  handlers: CommandHandlers;
  logins: Pick<Logins, 'check'>;
  log: Logger;
  callers: Pick<Callers, 'requireConnection'>;
  router?: CommandRouter;
  /** Left out where nobody sends a command again. */
  executed?: ExecutedCommands<Outcome> | undefined;
}

/** What became of a command. */
export type Outcome = { ok: true; data: unknown } | { ok: false; error: CommandError };

/**
 * Parses a client's frame and executes its command. Returns the reply; null if the frame has no `id`.
 * Checks the frame's credential right before the command, so a revoked credential is refused at once.
 */
export async function executeCommand(
  { handlers, logins, log, callers, router = ALL_HERE, executed }: ExecutionDeps,
  text: string,
  watch: CommandContext['watch'],
): Promise<ReplyFrame | null> {
  const raw = parseJson(text);
  const id = idOf(raw);
  try {
    const { type, id: _id, actor: given, credential, peer, idempotency, ...fields } = CommandFrame.parse(raw);
    if (credential !== undefined) await router.knowLogin(credential);
    const login = credential === undefined ? null : logins.check(credential);
    const unverified = unverifiedIn(type, login);
    if (unverified !== null) await callers.requireConnection(peer, unverified);
    const actor = login?.actor ?? given ?? UNNAMED;
    const context = { actor, login, watch };
    const execute = async (): Promise<Outcome> => {
      try {
        const elsewhere = await router.route(type, fields, context);
        return {
          ok: true,
          data: elsewhere === null ? await dispatch(handlers, type, fields, context) : elsewhere.data,
        };
      } catch (error) {
        return { ok: false, error: commandError(error, log) };
      }
    };
    const content = () => JSON.stringify([type, fields]);
    const sender = login?.loginId ?? actor.name;
    const outcome =
      idempotency === undefined || executed === undefined
        ? await execute()
        : await executed.once({ ...idempotency, sender, content: content() }, execute);
    return id === undefined ? null : { type: 'reply', id, ...outcome };
  } catch (error) {
    const reported = commandError(error, log);
    return id === undefined ? null : { type: 'reply', id, ok: false, error: reported };
  }
}

/**
 * What is done with a command of a process that is not known: a token alone must not change anything where a session could have read
 * it. For a browser only its login and the proof of a page are checked, so that no answer of a page waits. Null: it is not checked.
 */
function unverifiedIn(type: CommandType, login: Authenticated | null): Unverified | null {
  if (type === 'auth_redeem' || type === 'auth_prove') return 'allowed';
  const doesChange = timeOf(type) !== 'read' && type !== 'auth_logout';
  return login?.kind === 'token' && doesChange ? 'refused-beside-unsandboxed' : null;
}

/** Executes a command whose credential another machine has checked. Returns the reply as JSON; never throws. */
export async function executeForeign(
  { handlers, log }: Pick<ExecutionDeps, 'handlers' | 'log'>,
  { type, fields, actor, login }: ForeignCommand,
): Promise<string> {
  try {
    const known = CommandFrame.parse({ type }).type;
    const context = { actor, login, watch: () => undefined };
    return JSON.stringify({ ok: true, data: await dispatch(handlers, known, fields, context) });
  } catch (error) {
    return JSON.stringify({ ok: false, error: commandError(error, log) });
  }
}

/** Reads the id of an invalid frame too, because its sender waits for a reply. */
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
  // The schema belongs to this handler: both are keyed by the same command type.
  const input = schema.parse(fields) as Parameters<CommandHandlers[T]>[0];
  mark('command dispatched', type);
  return handlers[type](input, context);
}

function commandError(error: unknown, log: Logger): CommandError {
  if (error instanceof RelayedError) return error.told;
  if (error instanceof Rejection) {
    return {
      code: error.code,
      message: error.message,
      ...(error.decision === undefined ? {} : { decision: error.decision }),
    };
  }
  if (error instanceof z.ZodError) return { code: 'bad_request', message: z.prettifyError(error) };
  log.error({ err: error }, 'command failed');
  const storageError = storageErrorOf(error);
  if (storageError !== null)
    return { code: 'storage_failed', message: `The store cannot be read: ${storageError.text}` };
  if (error instanceof AppError && error.kind === 'operational') {
    return { code: ProblemCode.safeParse(error.code).data ?? 'storage_failed', message: error.message };
  }
  return {
    code: 'internal',
    message: 'Callboard had an internal error; its log has the details. No data loss was detected.',
  };
}

/** An escaped half of a surrogate pair; alone it is not a character. */
const SURROGATE = /\\u[dD][89a-fA-F]/;

/** Replaces lone surrogates with U+FFFD. UTF-8 cannot carry them to Claude, and everyone must read the text that Claude gets. */
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

const SAVED_MS = 10 * 60_000;
const MAX = 2_000;

/** A command that may be sent again because its reply was lost. */
export interface RepeatableCommand extends Idempotency {
  /** Whose key it is. */
  sender: string;
  /** All that it says. */
  content: string;
}

interface Executed {
  content: string;
  at: number;
  outcome: Promise<unknown>;
}

/** The commands that were executed lately, so that one that is sent again is executed once. In memory only: see `once`. */
export interface ExecutedCommands<T> {
  /**
   * Executes a command, or returns the outcome of the same command that was executed, or is being executed.
   * @param execute never rejects
   * @throws Rejection `bad_request` if the key belongs to another command; `no_confirmation` if an earlier attempt may have been
   *   executed before this process began, or is forgotten
   */
  once(command: RepeatableCommand, execute: () => Promise<T>): Promise<T>;
}

const UNKNOWN =
  'Callboard was restarted before it replied, so it is not known whether this was done. Look at the state before you try again.';

/** @param now a monotonic clock, in milliseconds */
export function createExecutedCommands<T>(now: () => number = () => performance.now()): ExecutedCommands<T> {
  const executed = new Map<string, Executed & { outcome: Promise<T> }>();
  /** Every command since then is remembered. */
  let since = now();

  function forgetOld(): void {
    for (const [key, { at }] of executed) {
      if (executed.size <= MAX && now() - at <= SAVED_MS) break;
      executed.delete(key);
      since = Math.max(since, at);
    }
  }

  return {
    async once({ sender, key, content, unknownForMs }, execute) {
      const name = `${sender}\0${key}`;
      const sign = createHash('sha256').update(content).digest('hex');
      const known = executed.get(name);
      if (known !== undefined) {
        if (known.content === sign) return known.outcome;
        throw new Rejection('bad_request', 'This Idempotency-Key belongs to another request. Use a new one.');
      }
      if (unknownForMs !== null && unknownForMs >= now() - since) throw new Rejection('no_confirmation', UNKNOWN);
      forgetOld();
      const outcome = execute();
      executed.set(name, { content: sign, at: now(), outcome });
      return outcome;
    },
  };
}
