import { readFile, rm, writeFile } from 'node:fs/promises';
import type { StageId } from '@callboard/contract';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { COMMAND_MARKER } from '../claude/processes/marked-processes.ts';
import { createProcessMarks } from '../lib/processes/process-mark.ts';
import { outputFile } from './command-output.ts';
import { type CommandEnd, type CommandRun, runCommand } from './run-command.ts';

/** A program that gets a text and prints an answer. */
export interface InputJob {
  id: string;
  stageId: StageId;
  command: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  input: string;
  /** A person's own program, which may act for them: it is not marked as something that runs for a stage. */
  isPersons?: boolean;
  timeLimitMs: number;
  /** Called once it has a process. */
  onSpawned: (process: ProcessIdentity) => Promise<void>;
}

/** A program that was started. */
export interface RunningInput {
  /** Resolves when all its processes are gone, with what it printed. Never rejects. */
  readonly ended: Promise<CommandEnd & { output: string }>;
  end: CommandRun['end'];
}

/** An answer is far shorter; what prints more gives none. */
const MAX_OUTPUT_LENGTH = 8 * 1024 * 1024;

/** Starts a program with a text as its input. Its files are gone when it has ended. @throws a system error if they cannot be written */
export async function runWithInput(
  { dataDir, graceMs }: { dataDir: string; graceMs: number },
  { id, stageId, command, args, cwd, env, ...job }: InputJob,
): Promise<RunningInput> {
  const file = outputFile(dataDir, stageId, id);
  const input = `${file.path}.input`;
  await file.create();
  await writeFile(input, job.input, { mode: 0o600 });
  const run = runCommand({
    placed: { command, args: [...args], cwd, env: { ...env, [COMMAND_MARKER]: id }, isolation: OUTSIDE },
    mark: job.isPersons === true ? null : await createProcessMarks(dataDir).of(stageId),
    id,
    file,
    input,
    graceMs,
    timeLimitMs: job.timeLimitMs,
    onSpawned: job.onSpawned,
  });
  const ended = run.ended.then(async (end) => {
    const output = await readFile(file.path, 'utf8').catch(() => ''); // it may have ended before it was started
    await Promise.allSettled([file.remove(), rm(input, { force: true })]); // what stays goes with the stage
    return { ...end, output: output.slice(-MAX_OUTPUT_LENGTH) };
  });
  return { ended, end: run.end };
}

const OUTSIDE = { level: 'none', reason: null } as const;
