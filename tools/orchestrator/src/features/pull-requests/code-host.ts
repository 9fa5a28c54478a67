import {
  type CodeHostKind,
  type FailedCheck,
  type FinishProblem,
  type HostComment,
  type IssuesQuery,
  type ProblemCode,
  type PullRequest,
  type Stage,
  visibleText,
} from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { z } from 'zod';
import { AppError, Rejection } from '../../lib/errors.ts';
import { type Ran, run } from '../../platform/processes.ts';

/** A pull request as a code host tells of it. */
export type HostPullRequest = Omit<PullRequest, 'host' | 'unresolved' | 'checkedAt' | 'stale' | 'isSettled'>;

export interface NewPullRequest {
  title: string;
  body: string;
  draft: boolean;
  base: string;
  branch: string;
  /** Variables for the program, by which it can be found. */
  marker: Readonly<Record<string, string>>;
}

/** A failed check with the end of its log; null if the host keeps none that we can read. */
export interface CheckLog extends FailedCheck {
  log: string | null;
}

/** An issue as a code host tells of it. */
export interface HostIssue {
  number: number;
  title: string;
  body: string;
  url: string;
  labels: string[];
  author: string | null;
  updatedAt: string | null;
}

/**
 * A repository on GitHub or GitLab, through the program that the person has installed and logged in (`gh`, `glab`).
 * @throws by all functions, Refusal `no_code_host`, `code_host_login`, `code_host_unreachable`, `pull_request_refused`
 */
export interface CodeHost {
  readonly kind: CodeHostKind;
  /** `gh` or `glab`. */
  readonly program: string;
  /** Returns if the person is logged in there. */
  requireLogin(signal: AbortSignal): Promise<void>;
  /** Returns the pull requests of a branch, newest first. */
  ofBranch(branch: string, signal: AbortSignal): Promise<HostPullRequest[]>;
  /** Opens a pull request. What it returns may be incomplete; `read` tells all. */
  create(wanted: NewPullRequest, signal: AbortSignal): Promise<void>;
  read(number: number, signal: AbortSignal): Promise<HostPullRequest>;
  /** Returns how many review threads are not resolved; null if the host does not tell. */
  countUnresolved(number: number, signal: AbortSignal): Promise<number | null>;
  /** Returns the comments that are not resolved. */
  comments(number: number, signal: AbortSignal): Promise<HostComment[]>;
  /** Returns open issues, at most `LISTED_ISSUES`. */
  issues(query: IssuesQuery, signal: AbortSignal): Promise<HostIssue[]>;
  issue(number: number, signal: AbortSignal): Promise<HostIssue>;
  failedChecks(number: number, signal: AbortSignal): Promise<FailedCheck[]>;
  /** Returns the ends of the logs of these failed checks. */
  logs(number: number, names: readonly string[], signal: AbortSignal): Promise<CheckLog[]>;
}

const MAX_TITLE_LENGTH = 250;
const MAX_PROMPT_LENGTH = 1_500;

/** Drafts the title and the text of a pull request: what was asked, and the commits. People edit both. */
export function draftPullRequest(
  { title, prompt }: Pick<Stage, 'title' | 'prompt'>,
  subjects: readonly string[],
): { title: string; body: string } {
  const asked = shortened(prompt.trim());
  const commits = subjects.length < 2 ? [] : ['', 'Commits:', '', ...subjects.map((subject) => `- ${subject}`)];
  return { title: title.trim().slice(0, MAX_TITLE_LENGTH), body: [asked, ...commits].join('\n').trim() };
}

function shortened(text: string): string {
  if (text.length <= MAX_PROMPT_LENGTH) return text;
  return `${text.slice(0, MAX_PROMPT_LENGTH).replace(/\s\S*$/, '')} ...`;
}

/** Drafts the message of a commit of everything that is left, from what the stage was asked to do. */
export function draftCommitMessage({ title, prompt }: Pick<Stage, 'title' | 'prompt'>): string {
  const [paragraph = ''] = prompt.trim().split(/\n\s*\n/);
  const text = paragraph.replaceAll(/\s+/g, ' ').trim();
  const body = text.length > 400 ? `${text.slice(0, 400).replace(/\s\S*$/, '')} ...` : text;
  return body === '' || body === title.trim() ? title.trim() : `${title.trim()}\n\n${body}`;
}

/** Reads what a program printed as JSON. @throws Refusal `pull_request_refused` if it is something else */
export function parseAnswer<T extends z.ZodType>(program: string, schema: T, printed: string): z.output<T> {
  try {
    return schema.parse(JSON.parse(printed));
  } catch {
    const cause = `${program} returned something that Callboard does not understand. Update ${program}, then try again.`;
    throw new Refusal('pull_request_refused', `${cause}\n${printed.slice(0, 2_000)}`);
  }
}

/** A rejection with a next step outside of Callboard. */
export class Refusal extends Rejection {
  /** A command for a terminal. */
  readonly command: string | null;
  /** A page for a person. */
  readonly url: string | null;

  constructor(
    code: ProblemCode,
    message: string,
    { command = null, url = null }: { command?: string | null; url?: string | null } = {},
  ) {
    super(code, message);
    this.command = command;
    this.url = url;
  }

  /** Returns the same refusal with a page, unless it has one. */
  withUrl(url: string | null): Refusal {
    return this.url !== null || url === null ? this : new Refusal(this.code, this.message, { ...this, url });
  }
}

/** Returns a failure as it is stored and shown. */
export function problemOf(error: unknown): FinishProblem {
  const { command, url } = error instanceof Refusal ? error : { command: null, url: null };
  const code = error instanceof AppError ? error.code : 'internal';
  return { code, message: visibleText(messageOf(error), 'prose'), command, url };
}

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

/** An address of a code host's page. It becomes a link, so any other scheme (`javascript:`) makes the answer unusable. */
export const WebAddress = z.url({ protocol: /^https?$/ });
/** Null if it is missing, or no address of a page. */
export const OptionalWebAddress = WebAddress.nullish().catch(null);

/** A repository on a code host, as a remote's address names it. */
export interface RemoteAddress {
  /** "github.com", without the port of ssh. */
  host: string;
  /** "acme/shop"; on GitLab also "group/subgroup/shop". */
  path: string;
  isSsh: boolean;
}

const URL_FORM = /^(https?|ssh|git\+ssh|git):\/\/(?:[^@/]*@)?(\[[^\]]+\]|[^:/]+)(:\d+)?\/(.+)$/i;
const SCP_FORM = /^(?:[^@/:]+@)?([^/:@]+):(?!\/\/)(.+)$/;

/** Parses the address of a remote; null for a folder, or one without a repository's path. */
export function parseRemote(address: string): RemoteAddress | null {
  const url = URL_FORM.exec(address);
  if (url !== null) {
    const [, scheme = '', name = '', port = '', path = ''] = url;
    const isSsh = !/^https?$/i.test(scheme);
    return made(isSsh ? name : `${name}${port}`, path, isSsh);
  }
  const scp = SCP_FORM.exec(address);
  return scp === null ? null : made(scp[1] ?? '', scp[2] ?? '', true);
}

function made(host: string, path: string, isSsh: boolean): RemoteAddress | null {
  const plain = path.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '');
  // A name without a folder is no repository on a code host; "c:" is a drive.
  if (!plain.includes('/') || host.length < 2 || !/^[\w.:[\]-]+$/.test(host) || host.startsWith('-')) return null;
  return { host: host.toLowerCase(), path: plain, isSsh };
}

/** Which code host an address names by itself; null if only the programs can tell. */
export function kindOf(host: string): CodeHostKind | null {
  if (host === 'github.com' || /(^|\.)github\./.test(host)) return 'github';
  return /(^|\.)gitlab\./.test(host) ? 'gitlab' : null;
}

const encoded = (branch: string): string => branch.split('/').map(encodeURIComponent).join('/');

/** The page on which a person opens a pull request by hand. */
export function compareUrl(
  kind: CodeHostKind,
  { host, path }: RemoteAddress,
  { base, branch }: { base: string; branch: string },
): string {
  if (kind === 'github') return `https://${host}/${path}/compare/${encoded(base)}...${encoded(branch)}?expand=1`;
  const query = new URLSearchParams({
    'merge_request[source_branch]': branch,
    'merge_request[target_branch]': base,
  });
  return `https://${host}/${path}/-/merge_requests/new?${query}`;
}
