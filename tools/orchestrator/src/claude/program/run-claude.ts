import { randomUUID } from 'node:crypto';
import { run } from '../../lib/processes/processes.ts';
import { endMarked } from '../processes/end-processes.ts';
import { LAUNCH_MARKER } from '../processes/marked-processes.ts';

export interface ClaudeOutput {
  stdout: string;
  /** Why it did not succeed, for a person to read; null if it did. */
  complaint: string | null;
}

const TIMEOUT_MS = 10_000;
const GRACE_MS = 1_000;

/** Runs `claude` to completion, for instance with `--version`, and ends everything it may have started. Never throws. */
export async function runClaude(
  program: string,
  args: string[],
  env: Record<string, string>,
  signal?: AbortSignal,
): Promise<ClaudeOutput> {
  const launchId = `doctor-${randomUUID()}`;
  const quiet = { DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' };
  const timeout = new AbortController();
  const job = { command: program, args, env: { ...env, ...quiet, [LAUNCH_MARKER]: launchId }, graceMs: GRACE_MS };
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    void endMarked([launchId], GRACE_MS).finally(() => timeout.abort());
  }, TIMEOUT_MS);
  const ending = signal === undefined ? timeout.signal : AbortSignal.any([timeout.signal, signal]);
  const { failed, stdout, stderr, exitCode, complaint } = await run(job, ending).finally(() => clearTimeout(timer));
  if (signal?.aborted) await endMarked([launchId], GRACE_MS); // what it had started survives it
  return { stdout, complaint: failed ? complaintOf() : null };

  function complaintOf(): string {
    if (isLate) return `it did not finish within ${TIMEOUT_MS / 1_000} s`;
    if (exitCode === null) return `it cannot be run: ${complaint?.split('\n', 1)[0] ?? 'unknown cause'}`;
    return stderr.trim() === '' ? `it exits with code ${exitCode}` : `it prints ${quoted(stderr)}`;
  }
}

/** The first line of a program's output, quoted for a sentence. */
export const quoted = (text: string): string => JSON.stringify(text.trim().split('\n', 1)[0]?.slice(0, 120) ?? '');
