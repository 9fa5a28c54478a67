import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SandboxSupport } from '@callboard/contract';
import { userEnvironment } from '@callboard/runtime/environment';
import { checkSandbox } from '../claude/sandbox/sandbox-check.ts';
import { searchPathForSandbox } from '../isolation/bwrap-wrapper.ts';

/**
 * Runs a command in Claude Code's sandbox as a session would. Leaves nothing behind. Never throws.
 * @param environment our own environment, of which the user's part is used
 */
export async function inspectSandbox(
  environment: Readonly<Record<string, string | undefined>>,
  isRoot: boolean,
): Promise<SandboxSupport> {
  const env = userEnvironment(environment);
  if (!isRoot) return checkSandbox(env);
  const folder = await mkdtemp(join(tmpdir(), 'callboard-doctor-')).catch(() => null);
  if (folder === null) return checkSandbox(env);
  try {
    return await checkSandbox({ ...env, PATH: await searchPathForSandbox(env.PATH ?? '', folder, isRoot) });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
