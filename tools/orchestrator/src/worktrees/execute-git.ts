import { execa } from 'execa';

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
  const { failed, isTerminated, timedOut, stdout, stderr, shortMessage } = await execa('git', args, {
    cwd,
    env,
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
    timeout: TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
    ...(signal === undefined ? {} : { cancelSignal: signal }),
  });
  return { failed, wasKilled: isTerminated || timedOut, stdout, stderr: stderr === '' ? (shortMessage ?? '') : stderr };
}
