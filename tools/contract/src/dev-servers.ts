import { z } from 'zod';
import { StageId } from './ids.ts';

/** What a command of the project is run for: to set a new worktree up, to clean it up at the end, to check it, or to serve it. */
export const WorktreeCommandKind = z.enum(['setup', 'cleanup', 'check', 'server']);
export type WorktreeCommandKind = z.infer<typeof WorktreeCommandKind>;

/**
 * `passed`: it ended with exit code 0. `stopped`: a person ended it. `interrupted`: Callboard ended while it ran, and the
 * command with it.
 */
export const WorktreeCommandState = z.enum(['running', 'passed', 'failed', 'timed-out', 'stopped', 'interrupted']);
export type WorktreeCommandState = z.infer<typeof WorktreeCommandState>;

/** Where a command ran: in Callboard's own sandbox, or with all the rights of the user. */
export const CommandIsolation = z.object({
  level: z.enum(['sandbox', 'none']),
  /** With `none`: why, for people. */
  reason: z.string().nullable(),
});
export type CommandIsolation = z.infer<typeof CommandIsolation>;

/** One run of a command of the project in a stage's worktree. */
export const WorktreeCommand = z.object({
  id: z.uuid(),
  stageId: StageId,
  kind: WorktreeCommandKind,
  /** The name of the check or the server; otherwise the kind. */
  name: z.string(),
  /** The line that the shell ran. */
  command: z.string(),
  /** Counts the runs of this kind and name in the stage, from 1. */
  attempt: z.int().positive(),
  state: WorktreeCommandState,
  /** Null while it runs, and if it was ended. */
  exitCode: z.int().nullable(),
  /** How it ended, in words; null while it runs, and if it passed. */
  reason: z.string().nullable(),
  isolation: CommandIsolation,
  /** Who started it; null: Callboard. */
  by: z.string().nullable(),
  startedAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable(),
  /** Of a server: where it listens; null until it does, and if that is not known. */
  port: z.int().positive().nullable().default(null),
});
export type WorktreeCommand = z.infer<typeof WorktreeCommand>;

/** A dev server of the project, in the worktree of a stage. */
export const DevServer = z.object({
  name: z.string(),
  command: z.string(),
  /** Its newest run; null if it was never started in this stage. */
  run: WorktreeCommand.nullable(),
});
export type DevServer = z.infer<typeof DevServer>;

/** A part of a command's output, as text with its escape sequences. Positions are bytes. */
export const CommandOutput = z.object({
  output: z.string(),
  from: z.int().nonnegative(),
  to: z.int().nonnegative(),
  /** How much it has printed so far. */
  total: z.int().nonnegative(),
  /** Something before `from` that was asked for is no longer kept. */
  isCut: z.boolean(),
});
export type CommandOutput = z.infer<typeof CommandOutput>;

/** Returns the output from this position on; without one, the end of it. */
export const CommandOutputQuery = z.strictObject({ after: z.coerce.number().int().nonnegative().optional() });
