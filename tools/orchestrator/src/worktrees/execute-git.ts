import { run } from '../lib/processes/processes.ts';

export interface GitResult {
  failed: boolean;
  /** It did not end by itself: something killed it, or it took too long. */
  wasKilled: boolean;
  stdout: string;
  stderr: string;
}

const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Runs git as it is told, without a guard. */
export async function execute(
  cwd: string,
  args: readonly string[],
  env: Record<string, string>,
  signal?: AbortSignal,
): Promise<GitResult> {
  const job = { command: 'git', args, cwd, env, timeoutMs: TIMEOUT_MS, maxBytes: MAX_OUTPUT_BYTES };
  const { failed, wasKilled, stdout, stderr, complaint } = await run(job, signal);
  return { failed, wasKilled, stdout, stderr: stderr === '' ? (complaint ?? '') : stderr };
}
