import { stripVTControlCharacters } from 'node:util';
import { messageOf } from '@callboard/runtime/errors';
import { MAX_OUTPUT_LENGTH } from '../domain/check-message.ts';
import type { CheckEnd } from '../domain/end-check.ts';
import { Rejection } from '../lib/errors.ts';
import type { CheckRecord } from '../store/records.ts';
import type { WorktreeCommands } from '../worktree-commands/worktree-commands.ts';

/** What a check needs of the runner of commands in worktrees. */
export type CheckCommands = Pick<WorktreeCommands, 'start' | 'stop' | 'tail'>;

/** A check whose command is being run. */
export interface RunningCheck {
  /** Never rejects. Null: Callboard stops, so there is no result. All its processes are gone. */
  readonly ended: Promise<CheckEnd | null>;
  stop(by: string): void;
}

/** Runs the command of a check. @param onStarted stores which command it is */
export function runCheck(
  commands: CheckCommands,
  run: CheckRecord,
  onStarted: (commandId: string) => Promise<void>,
): RunningCheck {
  const { stageId, phase: name, command, by } = run;
  let stoppedBy: string | null = null;
  let commandId: string | null = null;

  function end(): void {
    // This fails only for one that is not running any more, which needs no stop.
    if (commandId !== null && stoppedBy !== null) commands.stop(stageId, commandId, stoppedBy).catch(() => undefined);
  }

  async function work(): Promise<CheckEnd | null> {
    const order = { stageId, kind: 'check', name, command, by } as const;
    const started = await commands.start({ ...order, timeLimitMs: run.timeLimit * 1_000 });
    commandId = started.command.id;
    end();
    await onStarted(commandId);
    const { state, exitCode, reason } = await started.ended;
    const output = await outputOf(commandId);
    if (state === 'interrupted' || state === 'running') return null;
    return { state, exitCode, reason: state === 'failed' && exitCode !== null ? null : reason, output };
  }

  /** Its result counts even if nobody can read what it printed. */
  const outputOf = (id: string): Promise<string> =>
    commands
      .tail({ id, stageId }, 4 * MAX_OUTPUT_LENGTH)
      .then(plainTail, (error: unknown) => `[The output cannot be read: ${messageOf(error)}]`);

  return {
    ended: work().catch((error: unknown) => {
      const reason = error instanceof Rejection ? error.message : `It could not be run: ${messageOf(error)}`;
      return { state: 'not-started', exitCode: null, reason, output: '' };
    }),
    stop(by) {
      stoppedBy ??= by;
      end();
    },
  };
}

/** All control characters except tab and line feed. */
const CONTROLS = /(?![\t\n])\p{Cc}/gu;

/** Returns the end of an output as plain text: without escape sequences, overwritten lines once, and not too long. */
export function plainTail(output: string): string {
  const lines = stripVTControlCharacters(output).replaceAll('\r\n', '\n').split('\n');
  const written = lines.map((line) => line.split('\r').findLast((part) => part !== '') ?? '');
  const text = written.join('\n').replace(CONTROLS, '').trimEnd();
  if (text.length <= MAX_OUTPUT_LENGTH) return text;
  const tail = text.slice(-MAX_OUTPUT_LENGTH);
  return `[...]\n${tail.slice(tail.indexOf('\n') + 1)}`;
}
