import { randomUUID } from 'node:crypto';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { execa } from 'execa';
import { z } from 'zod';
import { findClaude } from '../claude/find-claude.ts';
import { endMarked } from '../claude/launch/end-processes.ts';
import { LAUNCH_MARKER } from '../claude/launch/marked-processes.ts';
import { userEnvironment } from '../lib/user-environment.ts';

/** The `claude` that sessions would be started with. */
export interface ClaudeSurvey {
  path: string;
  where: 'given' | 'path' | 'bundled';
  /** Null when it does not tell. */
  version: string | null;
  /** What it did instead of telling its version. */
  complaint: string | null;
}

type Environment = Readonly<Record<string, string | undefined>>;

const PATIENCE_MS = 10_000;
const GRACE_MS = 1_000;

/**
 * Finds `claude` as the orchestrator does and asks it for its version.
 * @param environment as we were started; the user's own part of it is what counts
 * @throws OperationalError `claude_missing` that says what to do
 */
export async function surveyClaude(configured: string | null, environment: Environment): Promise<ClaudeSurvey> {
  const env = userEnvironment(environment);
  const path = await findClaude(configured, env.PATH);
  const onPath = (env.PATH ?? '').split(delimiter).includes(dirname(path));
  const where = configured !== null ? 'given' : onPath ? 'path' : 'bundled';
  const { stdout, complaint } = await ask(path, ['--version'], env);
  const version = /^(\d+\.\d+\.\d+\S*) \(Claude Code\)/.exec(stdout)?.[1] ?? null;
  return { path, where, version, complaint: version === null ? (complaint ?? `it says ${quoted(stdout)}`) : null };
}

const AuthStatus = z.object({ loggedIn: z.boolean(), authMethod: z.string().default('unknown') });

/**
 * Whether `claude` says that it is logged in, and how; null when it does not tell. It is kept from the network meanwhile.
 * Where it has never run for this user it does not get to leave its files: there is no login to be found in them.
 */
export async function askLogin(claude: string, environment: Environment): Promise<z.infer<typeof AuthStatus> | null> {
  const nowhere = 'http://127.0.0.1:9';
  const offline = { HTTPS_PROXY: nowhere, HTTP_PROXY: nowhere, https_proxy: nowhere, http_proxy: nowhere };
  const env = { ...userEnvironment(environment), ...offline, NO_PROXY: '', no_proxy: '' };
  const elsewhere = (await hasRun(env)) ? null : await mkdtemp(join(tmpdir(), 'callboard-doctor-'));
  try {
    const config: Record<string, string> = elsewhere === null ? {} : { CLAUDE_CONFIG_DIR: elsewhere };
    const { stdout } = await ask(claude, ['auth', 'status', '--json'], { ...env, ...config });
    return AuthStatus.parse(JSON.parse(stdout));
  } catch {
    return null;
  } finally {
    if (elsewhere !== null) await rm(elsewhere, { recursive: true, force: true });
  }
}

function hasRun(env: Environment): Promise<boolean> {
  const file = join(env.CLAUDE_CONFIG_DIR || env.HOME || homedir(), '.claude.json');
  return access(file).then(
    () => true,
    () => false,
  );
}

/** Runs a program to its end; whatever it may have started is gone afterwards. */
async function ask(program: string, args: string[], env: Record<string, string>) {
  const launchId = `doctor-${randomUUID()}`;
  const quiet = { DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' };
  const running = execa(program, args, {
    env: { ...env, ...quiet, [LAUNCH_MARKER]: launchId },
    extendEnv: false,
    stdin: 'ignore',
    reject: false,
  });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    void endMarked([launchId], GRACE_MS).finally(() => running.kill('SIGKILL'));
  }, PATIENCE_MS);
  const { failed, stdout, stderr, exitCode, shortMessage } = await running.finally(() => clearTimeout(timer));
  return { stdout, complaint: failed ? complaintOf() : null };

  function complaintOf(): string {
    if (isLate) return `it says nothing within ${PATIENCE_MS / 1_000} s`;
    if (exitCode === undefined)
      return `it cannot be run: ${shortMessage?.split('\n', 1)[0] ?? 'the cause is not known'}`;
    return stderr.trim() === '' ? `it ends with exit code ${exitCode}` : `it says ${quoted(stderr)}`;
  }
}

const quoted = (text: string) => JSON.stringify(text.trim().split('\n', 1)[0]?.slice(0, 120) ?? '');
