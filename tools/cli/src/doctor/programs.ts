import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Environment } from '../edges.ts';

const run = promisify(execFile);

/** How a program ended that was run for what it says. */
export interface Said {
  /** Null when it could not be started at all. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const PATIENCE_MS = 10_000;

/** Runs a short program; never throws. */
export async function ask(program: string, args: readonly string[], env: Environment): Promise<Said> {
  try {
    const { stdout, stderr } = await run(program, [...args], { env: { ...env, LC_ALL: 'C' }, timeout: PATIENCE_MS });
    return { exitCode: 0, stdout: stdout.trim(), stderr: stderr.trim() };
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout?: unknown; stderr?: unknown };
    const text = (part: unknown) => (typeof part === 'string' ? part.trim() : '');
    return { exitCode: typeof code === 'number' ? code : null, stdout: text(stdout), stderr: text(stderr) };
  }
}
