import { type Ran, run } from '../../lib/processes/processes.ts';
import { Refusal } from '../refusal.ts';

/** The repository that a program is to work on. */
export interface HostRepository {
  /** Null if the program finds the repository by itself, from the folder. */
  address: { host: string; path: string } | null;
  /** Where the program runs: a folder in which there is nothing for git to run. */
  folder: string;
}

export interface ProgramDeps extends HostRepository {
  /** The user's environment: the login in it is theirs. */
  env: Readonly<Record<string, string>>;
}

const TIME_LIMIT_MS = 60_000;
const MAX_OUTPUT_BYTES = 32 * 1024 * 1024;
const LOGIN_EXIT_CODE = 4; // of gh

/** Variables that would make a program ask, page, colour, or work on something else. */
const LEFT_OUT = ['GH_REPO', 'GH_FORCE_TTY', 'GH_DEBUG', 'DEBUG', 'GH_BROWSER', 'GITLAB_REPO', 'CLICOLOR_FORCE'];
const PLAIN = {
  GH_PROMPT_DISABLED: '1',
  GH_NO_UPDATE_NOTIFIER: '1',
  GH_SPINNER_DISABLED: '1',
  GH_PAGER: 'cat',
  NO_PROMPT: '1',
  GLAB_CHECK_UPDATE: 'false',
  GLAB_SEND_TELEMETRY: 'false',
  NO_COLOR: '1',
  CLICOLOR: '0',
  PAGER: 'cat',
  GLAMOUR_STYLE: 'notty',
  GIT_TERMINAL_PROMPT: '0',
  // Git, which the programs ask for the remotes, runs nothing of the repository.
  GIT_CONFIG_COUNT: '2',
  GIT_CONFIG_KEY_0: 'core.fsmonitor',
  GIT_CONFIG_VALUE_0: '',
  GIT_CONFIG_KEY_1: 'core.hooksPath',
  GIT_CONFIG_VALUE_1: '/dev/null',
};

export interface ProgramCall {
  program: string;
  args: readonly string[];
  marker?: Readonly<Record<string, string>>;
}

/** Runs `gh` or `glab` without a terminal, and returns what it printed, also if it failed. @throws Refusal `no_code_host` */
export async function tryProgram(
  { env, folder }: ProgramDeps,
  { program, args, marker }: ProgramCall,
  signal: AbortSignal,
): Promise<Ran> {
  const saved = Object.fromEntries(Object.entries(env).filter(([name]) => !LEFT_OUT.includes(name)));
  const job = {
    command: program,
    args,
    cwd: folder,
    env: { ...saved, ...PLAIN, ...marker },
    timeoutMs: TIME_LIMIT_MS,
    maxBytes: MAX_OUTPUT_BYTES,
  };
  const ran = await run(job, signal);
  signal.throwIfAborted();
  if (ran.isMissing) throw missing(program);
  return ran;
}

/** Runs `gh` or `glab`, and returns what it printed. @throws Refusal as `CodeHost` */
export async function mustProgram(deps: ProgramDeps, call: ProgramCall, signal: AbortSignal): Promise<string> {
  const ran = await tryProgram(deps, call, signal);
  if (!ran.failed) return ran.stdout;
  throw refusalOf(ran, call.program, deps.address?.host ?? null);
}

const missing = (program: string): Refusal =>
  new Refusal('no_code_host', `${program} is not installed on this machine, or not on the PATH of Callboard.`, {
    command: program === 'gh' ? 'gh auth login' : 'glab auth login',
  });

export function notLoggedIn(program: string, host: string | null): Refusal {
  const where = host === null ? '' : ` to ${host}`;
  const command = host === null ? `${program} auth login` : `${program} auth login --hostname ${host}`;
  return new Refusal('code_host_login', `${program} is not logged in${where}. Log in in a terminal, then try again.`, {
    command,
  });
}

const LOGIN =
  /auth login|not logged in|401|bad credentials|no longer valid|authentication (?:failed|required)|No token/i;
const RATE = /rate limit|HTTP 429|Too Many Requests/i;
const NETWORK =
  /error connecting|could not resolve host|no such host|connection refused|connection reset|i\/o timeout|network is unreachable|TLS handshake|dial tcp|50[234] (?:Bad|Service|Gateway)|HTTP 50[0-4]/i;
const NOT_FOUND = /Could not resolve to a Repository|HTTP 404|404 (?:Project )?Not Found|404 Not found/i;
const FORBIDDEN =
  /HTTP 403|403 Forbidden|must have admin|Resource not accessible|insufficient_scope|does not have the correct permissions/i;

/** Returns why a program failed, from its exit code and its words. */
export function refusalOf(
  { exitCode, wasKilled, stdout, stderr }: Pick<Ran, 'exitCode' | 'wasKilled' | 'stdout' | 'stderr'>,
  program: string,
  host: string | null,
): Refusal {
  const text = [stderr, stdout].join('\n').trim();
  const where = host ?? 'the code host';
  const reported = (cause: string): string => (text === '' ? cause : `${cause}\n${text.slice(0, 4_000)}`);
  if (wasKilled)
    return new Refusal('code_host_unreachable', reported(`${program} did not answer within a minute. Try again.`));
  if (RATE.test(text))
    return new Refusal(
      'code_host_unreachable',
      reported(`${where} allows no further requests for a while. Try again later.`),
    );
  if (NETWORK.test(text))
    return new Refusal(
      'code_host_unreachable',
      reported(`${where} cannot be reached. Check the connection, then try again.`),
    );
  if (exitCode === LOGIN_EXIT_CODE || LOGIN.test(text)) return notLoggedIn(program, host);
  if (NOT_FOUND.test(text))
    return new Refusal(
      'pull_request_refused',
      reported(`${where} has no such repository, or your login may not see it.`),
    );
  if (FORBIDDEN.test(text))
    return new Refusal('pull_request_refused', reported(`Your login on ${where} may not do this.`));
  const [first = ''] = text.split('\n');
  return new Refusal(
    'pull_request_refused',
    reported(first === '' ? `${program} failed and gave no reason.` : `${where} refused: ${first}`),
  );
}
