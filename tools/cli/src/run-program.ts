import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Environment } from '@callboard/runtime/environment';

const run = promisify(execFile);

/** What a program printed, and how it ended. */
export interface ProgramResult {
  /** Null if it could not be started at all. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const TIMEOUT_MS = 10_000;

/** Runs a short program. Never rejects. */
export async function runProgram(program: string, args: readonly string[], env: Environment): Promise<ProgramResult> {
  try {
    const { stdout, stderr } = await run(program, [...args], { env: { ...env, LC_ALL: 'C' }, timeout: TIMEOUT_MS });
    return { exitCode: 0, stdout: stdout.trim(), stderr: stderr.trim() };
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout?: unknown; stderr?: unknown };
    const text = (part: unknown) => (typeof part === 'string' ? part.trim() : '');
    return { exitCode: typeof code === 'number' ? code : null, stdout: text(stdout), stderr: text(stderr) };
  }
}
