import { z } from 'zod';
import type { ProblemCode } from './problems.ts';

/**
 * Where a command runs when several machines share the store.
 *
 * - `store`: on the machine that got it. All it needs is in the store, and whoever else must act hears of it there.
 * - `here`: on the machine that got it, because it is about that machine.
 * - `owner`: on the machine that has the stage; for a stage that nobody has claimed, on one that has its repository.
 * - `start`: as `owner`; a stage that nobody has claimed goes to the machine with most free memory and a free slot.
 * - `project`: on a machine that has the repository: this one if it can.
 * - `not-relayed`: as `owner`, and refused if that is another machine: it opens a window there.
 * - `everywhere`: here, and on all other machines, whose replies nobody needs.
 */
export type CommandLocation = 'store' | 'here' | 'owner' | 'start' | 'project' | 'not-relayed' | 'everywhere';

/** A command: everything that the orchestrator, the web server and the clients have to know of it. */
export interface CommandDefinition {
  input: z.ZodObject;
  /** The data of its reply. */
  reply: z.ZodType;
  runs: CommandLocation;
  /** How long a client waits for the reply: a key of `REPLY_LIMITS_MS`; `normal` if absent. */
  time?: 'read' | 'slow';
  /**
   * Its REST route. Each `:name` is a field of the command; the other fields go into the query of a GET, else into the
   * body. A command without a route serves the web server itself, or one event stream.
   */
  route?: `${Method} /api/${string}`;
  /** The field that is the whole body. */
  body?: string;
  isBodyOptional?: boolean;
  /** In bytes. */
  bodyLimit?: number;
  /** Parses the query, whose values are text. */
  query?: z.ZodType;
  /** 200 by default. `created`: 201, or 200 if the reply says that it existed already. `held`: 200, or 202 if an answer is held back. */
  status?: 201 | 202 | 'created' | 'held';
  /** Only for requests from this machine. */
  isLocal?: boolean;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type CommandDefinitions = Readonly<Record<string, CommandDefinition>>;

/** What the API's document says of a command. A function returns it, so that a page does not load the texts. */
export interface CommandDocs<C extends CommandDefinition> {
  /** The chapter. */
  tag: string;
  summary: string;
  description?: string;
  /** The codes of refusals that only this command has. */
  problems?: readonly ProblemCode[];
  example: { input: z.infer<C['input']>; reply: z.infer<C['reply']> };
}

/** The docs of those commands that have a route. */
export type DocsOf<C extends CommandDefinitions> = {
  readonly [T in keyof C as C[T] extends { route: string } ? T : never]: CommandDocs<C[T]>;
};

/** For bodies with files. */
export const MESSAGE_BODY_LIMIT = 25 * 1024 * 1024;

const DIGITS = /^\d{1,15}$/;

/** A whole number in a query or a header, written in digits. */
export const wholeNumber = (min: number, max: number = Number.MAX_SAFE_INTEGER) =>
  z.string().regex(DIGITS, 'must be a whole number').transform(Number).pipe(z.int().min(min).max(max));
