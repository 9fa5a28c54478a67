import { randomUUID } from 'node:crypto';
import { run } from '../../lib/processes/processes.ts';
import { endMarked } from '../processes/end-processes.ts';
import { LAUNCH_MARKER } from '../processes/marked-processes.ts';

/** What a short run of the program gave. */
export interface Said {
  stdout: string;
  /** What it did instead of ending well, in words; null when it did. */
  complaint: string | null;
}

const PATIENCE_MS = 10_000;
const GRACE_MS = 1_000;

/** Runs `claude` for what it prints and ends by itself; whatever it may have started is gone afterwards. Never throws. */
export async function askClaude(
  program: string,
  args: string[],
  env: Record<string, string>,
  signal?: AbortSignal,
): Promise<Said> {
  const launchId = `doctor-${randomUUID()}`;
  const quiet = { DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' };
  const late = new AbortController();
  const job = { command: program, args, env: { ...env, ...quiet, [LAUNCH_MARKER]: launchId }, graceMs: GRACE_MS };
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    void endMarked([launchId], GRACE_MS).finally(() => late.abort());
  }, PATIENCE_MS);
  const ending = signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]);
  const { failed, stdout, stderr, exitCode, complaint } = await run(job, ending).finally(() => clearTimeout(timer));
  if (signal?.aborted) await endMarked([launchId], GRACE_MS); // what it had started lives on without it
  return { stdout, complaint: failed ? complaintOf() : null };

  function complaintOf(): string {
    if (isLate) return `it says nothing within ${PATIENCE_MS / 1_000} s`;
    if (exitCode === null) return `it cannot be run: ${complaint?.split('\n', 1)[0] ?? 'the cause is not known'}`;
    return stderr.trim() === '' ? `it ends with exit code ${exitCode}` : `it says ${quoted(stderr)}`;
  }
}

/** The first line of what a program said, for a sentence of ours. */
export const quoted = (text: string): string => JSON.stringify(text.trim().split('\n', 1)[0]?.slice(0, 120) ?? '');
