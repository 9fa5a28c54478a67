import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { userEnvironment } from '@callboard/runtime/environment';
import { z } from 'zod';
import { readVersion } from '../claude/program/claude-program.ts';
import { findClaude } from '../claude/program/find-claude.ts';
import { runClaude } from '../claude/program/run-claude.ts';
import { pathExists } from '../lib/path-exists.ts';

/** The `claude` that sessions would use. */
export interface InstalledClaude {
  path: string;
  where: 'given' | 'path' | 'bundled';
  /** Null if it does not print one. */
  version: string | null;
  /** What it did instead of printing its version. */
  complaint: string | null;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Finds `claude` as the orchestrator does and asks it for its version.
 * @param environment our own environment, of which the user's part is used
 * @throws OperationalError `claude_missing` that says what to do
 */
export async function inspectClaude(configured: string | null, environment: Environment): Promise<InstalledClaude> {
  const env = userEnvironment(environment);
  const path = await findClaude(configured, env.PATH);
  const onPath = (env.PATH ?? '').split(delimiter).includes(dirname(path));
  const where = configured !== null ? 'given' : onPath ? 'path' : 'bundled';
  return { path, where, ...(await readVersion(path, env)) };
}

const AuthStatus = z.object({ loggedIn: z.boolean(), authMethod: z.string().default('unknown') });

/**
 * Asks `claude` whether it is logged in, and how; null if it does not say. It has no network meanwhile. If it has never run
 * for this user, it gets a temporary config folder, so that it leaves no files: there is no login to find anyway.
 */
export async function askLogin(claude: string, environment: Environment): Promise<z.infer<typeof AuthStatus> | null> {
  const nowhere = 'http://127.0.0.1:9';
  const offline = { HTTPS_PROXY: nowhere, HTTP_PROXY: nowhere, https_proxy: nowhere, http_proxy: nowhere };
  const env = { ...userEnvironment(environment), ...offline, NO_PROXY: '', no_proxy: '' };
  const temporary = (await hasRun(env)) ? null : await mkdtemp(join(tmpdir(), 'callboard-doctor-'));
  try {
    const config: Record<string, string> = temporary === null ? {} : { CLAUDE_CONFIG_DIR: temporary };
    const { stdout } = await runClaude(claude, ['auth', 'status', '--json'], { ...env, ...config });
    return AuthStatus.parse(JSON.parse(stdout));
  } catch {
    return null;
  } finally {
    if (temporary !== null) await rm(temporary, { recursive: true, force: true });
  }
}

const hasRun = (env: Environment): Promise<boolean> =>
  pathExists(join(env.CLAUDE_CONFIG_DIR || env.HOME || homedir(), '.claude.json'));
