import { type ChecksState, type FailedCheck, type HostComment, LISTED_ISSUES } from '@callboard/contract';
import { z } from 'zod';
import type { Ran } from '../../platform/processes.ts';
import {
  type CheckLog,
  type CodeHost,
  type HostIssue,
  type HostPullRequest,
  mustProgram,
  type NewPullRequest,
  notLoggedIn,
  OptionalWebAddress,
  type ProgramDeps,
  parseAnswer,
  Refusal,
  refusalOf,
  tryProgram,
  WebAddress,
} from './code-host.ts';

/** What is asked of `gh pr view --json` and `gh pr list --json`: fields that gh 2.23 (Debian 12) has as well. */
export const FIELDS = [
  ...['number', 'url', 'title', 'state', 'isDraft', 'baseRefName', 'headRefName', 'headRefOid', 'isCrossRepository'],
  'headRepositoryOwner',
  ...['mergeCommit', 'mergeable', 'statusCheckRollup'],
] as const;

const text = z.string().nullish();

/** A check run, or a status of an older kind. */
const Check = z.object({
  name: text,
  context: text,
  status: text,
  conclusion: text,
  state: text,
  detailsUrl: OptionalWebAddress,
  targetUrl: OptionalWebAddress,
});

export const GitHubPullRequest = z.object({
  number: z.int().positive(),
  url: WebAddress,
  title: z.string().default(''),
  state: z.string(),
  isDraft: z.boolean().default(false),
  baseRefName: z.string(),
  headRefName: z.string(),
  headRefOid: z.string().default(''),
  isCrossRepository: z.boolean().default(false),
  headRepositoryOwner: z.object({ login: z.string() }).nullish(),
  mergeCommit: z.object({ oid: z.string() }).nullish(),
  mergeable: text,
  statusCheckRollup: z.array(Check).nullish(),
});
export type GitHubPullRequest = z.infer<typeof GitHubPullRequest>;
type Check = z.infer<typeof Check>;

const PASSED = ['SUCCESS', 'NEUTRAL', 'SKIPPED'];
const FAILED = ['FAILURE', 'ERROR', 'TIMED_OUT', 'STARTUP_FAILURE', 'CANCELLED', 'ACTION_REQUIRED'];

function outcomeOf({ status, conclusion, state }: Check): 'passed' | 'failed' | 'pending' {
  const said = (conclusion || state || '').toUpperCase();
  if (FAILED.includes(said)) return 'failed';
  if (PASSED.includes(said) && (status ?? 'COMPLETED').toUpperCase() === 'COMPLETED') return 'passed';
  return 'pending';
}

const nameOf = ({ name, context }: Check): string => name || context || 'a check';
const urlOf = ({ detailsUrl, targetUrl }: Check): string | null => detailsUrl || targetUrl || null;

/** Counts checks: a failed one outweighs one that runs. */
export function checksState(outcomes: readonly ('passed' | 'failed' | 'pending')[]): ChecksState {
  if (outcomes.length === 0) return 'none';
  if (outcomes.includes('failed')) return 'failing';
  return outcomes.includes('pending') ? 'pending' : 'passing';
}

/** How many failing checks are named. */
export const NAMED_CHECKS = 20;

export const failedChecksOf = ({ statusCheckRollup }: GitHubPullRequest): FailedCheck[] =>
  (statusCheckRollup ?? [])
    .filter((check) => outcomeOf(check) === 'failed')
    .map((check) => ({ name: nameOf(check), url: urlOf(check) }));

export function pullRequestOf(reported: GitHubPullRequest): HostPullRequest {
  const { number, url, title, state, isDraft, baseRefName, headRefName, headRefOid, mergeCommit, mergeable } = reported;
  const isOpen = state.toUpperCase() === 'OPEN';
  const ended = state.toUpperCase() === 'MERGED' ? 'merged' : 'closed';
  return {
    number,
    url,
    title,
    base: baseRefName,
    branch: headRefName,
    head: headRefOid,
    state: isOpen ? (isDraft ? 'draft' : 'open') : ended,
    checks: checksState((reported.statusCheckRollup ?? []).map(outcomeOf)),
    failing: failedChecksOf(reported)
      .slice(0, NAMED_CHECKS)
      .map(({ name }) => name),
    conflicts: isOpen && mergeable === 'CONFLICTING',
    mergeCommit: mergeCommit?.oid ?? null,
  };
}

/** The job of GitHub Actions that a check's page is about; null for a check of another service. */
export const jobIn = (url: string | null): string | null =>
  url === null ? null : (/\/actions\/runs\/\d+\/job\/(\d+)/.exec(url)?.[1] ?? null);

/** gh 2.23 has no `--json` field for review threads. */
const THREADS = `query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 100) {
        nodes {
          id isResolved path line originalLine
          comments(first: 20) { nodes { body url author { login } } }
        }
      }
    }
  }
}`;

const Thread = z.object({
  id: z.string(),
  isResolved: z.boolean(),
  path: text,
  line: z.int().positive().nullish(),
  originalLine: z.int().positive().nullish(),
  comments: z.object({
    nodes: z.array(
      z.object({ body: z.string(), url: OptionalWebAddress, author: z.object({ login: z.string() }).nullish() }),
    ),
  }),
});

export const Threads = z.object({
  data: z.object({
    repository: z.object({
      pullRequest: z.object({ reviewThreads: z.object({ nodes: z.array(Thread) }) }),
    }),
  }),
});

/** Returns the threads that are not resolved, each as one comment with its answers. */
export const commentsOf = (reported: z.infer<typeof Threads>): HostComment[] =>
  reported.data.repository.pullRequest.reviewThreads.nodes
    .filter(({ isResolved, comments }) => !isResolved && comments.nodes.length > 0)
    .map(({ id, path, line, originalLine, comments: { nodes } }) => ({
      id,
      path: path ?? null,
      line: line ?? originalLine ?? null,
      url: nodes[0]?.url ?? null,
      author: nodes[0]?.author?.login ?? 'somebody',
      text: nodes
        .map(({ body, author }, at) => (at === 0 ? body : `${author?.login ?? 'somebody'} answered: ${body}`))
        .join('\n\n'),
    }));

/** `gh run view --log-failed` prints "job, tab, step, tab, time text" on each line. */
export const plainLog = (log: string): string =>
  log
    .split('\n')
    .map((line) => line.split('\t').slice(2).join('\t') || line)
    .map((line) => line.replace(/^\uFEFF?\d{4}-\d\d-\d\dT[\d:.]+Z ?/, ''))
    .join('\n');

/** The fields of an issue to ask for. */
export const ISSUE_FIELDS = ['number', 'title', 'body', 'url', 'labels', 'author', 'updatedAt'];

export const GitHubIssue = z
  .object({
    number: z.int().positive(),
    title: z.string(),
    body: z.string().nullish(),
    url: WebAddress,
    labels: z.array(z.object({ name: z.string() })).nullish(),
    author: z.object({ login: z.string() }).nullish(),
    updatedAt: z.string().nullish(),
  })
  .transform(
    ({ number, title, body, url, labels, author, updatedAt }): HostIssue => ({
      number,
      title,
      url,
      body: body ?? '',
      updatedAt: updatedAt ?? null,
      labels: (labels ?? []).map(({ name }) => name),
      author: author?.login ?? null,
    }),
  );

const PROGRAM = 'gh';
const ISSUE_JSON = ['--json', ISSUE_FIELDS.join(',')];
const JSON_FIELDS = ['--json', FIELDS.join(',')];

export interface GitHubDeps extends ProgramDeps {
  /** The owner of the fork that the branches are pushed to; without one, they are in the repository itself. */
  forkOwner?: string | undefined;
}

/** GitHub, also one of a company, through `gh`. */
export function createGitHub(deps: GitHubDeps): CodeHost {
  const { address, forkOwner } = deps;
  const repo = address === null ? [] : ['--repo', `${address.host}/${address.path}`];
  const gh = (args: readonly string[], signal: AbortSignal) => mustProgram(deps, { program: PROGRAM, args }, signal);

  async function view(number: number, signal: AbortSignal): Promise<GitHubPullRequest> {
    return parseAnswer(
      PROGRAM,
      GitHubPullRequest,
      await gh(['pr', 'view', String(number), ...repo, ...JSON_FIELDS], signal),
    );
  }

  async function threads(number: number, signal: AbortSignal) {
    // Only `-F` fills in `{owner}`, and it would make a number of a name of digits.
    const flag = address === null ? '-F' : '-f';
    const [owner, name] = address?.path.split('/') ?? ['{owner}', '{repo}'];
    const host = address === null ? [] : ['--hostname', address.host];
    const variables = [flag, `owner=${owner}`, flag, `name=${name}`, '-F', `number=${number}`];
    return commentsOf(
      parseAnswer(
        PROGRAM,
        Threads,
        await gh(['api', 'graphql', ...host, ...variables, '-f', `query=${THREADS}`], signal),
      ),
    );
  }

  async function logOf({ name, url }: { name: string; url: string | null }, signal: AbortSignal): Promise<CheckLog> {
    const job = jobIn(url);
    if (job === null) return { name, url, log: null };
    const call = { program: PROGRAM, args: ['run', 'view', ...repo, '--job', job, '--log-failed'] };
    const { failed, stdout } = await tryProgram(deps, call, signal);
    return { name, url, log: failed || stdout.trim() === '' ? null : plainLog(stdout) };
  }

  return {
    kind: 'github',
    program: PROGRAM,

    async requireLogin(signal) {
      const args = ['auth', 'status', ...(address === null ? [] : ['--hostname', address.host])];
      const ran = await tryProgram(deps, { program: PROGRAM, args }, signal);
      // Without a network, gh says that the token is not valid: whoever has one may find out by using it.
      if (ran.failed && /not logged in/i.test(ran.stderr + ran.stdout))
        throw notLoggedIn(PROGRAM, address?.host ?? null);
    },

    async ofBranch(branch, signal) {
      const args = ['pr', 'list', ...repo, '--head', branch, '--state', 'all', '--limit', '30', ...JSON_FIELDS];
      const found = parseAnswer(PROGRAM, GitHubPullRequest.array(), await gh(args, signal));
      return found
        .filter((one) => one.headRefName === branch && isOf(one, forkOwner))
        .map(pullRequestOf)
        .toSorted((a, b) => b.number - a.number);
    },

    async create({ title, body, draft, base, branch, marker }: NewPullRequest, signal) {
      const what = [`--title=${title}`, `--body=${body}`, ...(draft ? ['--draft'] : [])];
      const head = forkOwner === undefined ? branch : `${forkOwner}:${branch}`;
      const args = ['pr', 'create', ...repo, '--head', head, '--base', base, ...what];
      const ran = await tryProgram(deps, { program: PROGRAM, args, marker }, signal);
      if (ran.failed) throw notCreated(ran, base, address?.host ?? null);
    },

    read: async (number, signal) => pullRequestOf(await view(number, signal)),
    countUnresolved: async (number, signal) => (await threads(number, signal)).length,
    comments: threads,
    ...issuesOf(gh, repo),
    failedChecks: async (number, signal) => failedChecksOf(await view(number, signal)),

    async logs(number, names, signal) {
      const wanted = failedChecksOf(await view(number, signal)).filter(({ name }) => names.includes(name));
      const logs: CheckLog[] = [];
      for (const check of wanted) logs.push(await logOf(check, signal));
      return logs;
    },
  };
}

type Gh = (args: readonly string[], signal: AbortSignal) => Promise<string>;

const issuesOf = (gh: Gh, repo: readonly string[]): Pick<CodeHost, 'issues' | 'issue'> => ({
  async issues({ q = '', label = '' }, signal) {
    // As one word each: what begins with `-` would be taken for a flag.
    const found = [...(q === '' ? [] : [`--search=${q}`]), ...(label === '' ? [] : [`--label=${label}`])];
    const args = ['issue', 'list', ...repo, '--state', 'open', '--limit', String(LISTED_ISSUES), ...found];
    return parseAnswer(PROGRAM, GitHubIssue.array(), await gh([...args, ...ISSUE_JSON], signal));
  },
  issue: async (number, signal) =>
    parseAnswer(PROGRAM, GitHubIssue, await gh(['issue', 'view', String(number), ...repo, ...ISSUE_JSON], signal)),
});

function notCreated(ran: Ran, base: string, host: string | null): Refusal {
  const text = `${ran.stderr}\n${ran.stdout}`.trim();
  const refused = (cause: string) => new Refusal('pull_request_refused', `${cause}\n${text}`);
  if (/No commits between/i.test(text)) return refused(`The branch has no commit that ${base} lacks.`);
  if (/Base (?:ref|sha) (?:must be a valid branch|can't be blank)|base.*invalid/i.test(text))
    return refused(`The remote has no branch ${base}. Push ${base} first, then try again.`);
  if (/Draft pull requests are not supported/i.test(text))
    return refused('This repository does not support draft pull requests. Open the pull request as ready for review.');
  return refusalOf(ran, PROGRAM, host);
}

/** Whether its branch is where ours are pushed to. */
const isOf = ({ isCrossRepository, headRepositoryOwner }: GitHubPullRequest, forkOwner: string | undefined): boolean =>
  forkOwner === undefined
    ? !isCrossRepository
    : isCrossRepository && headRepositoryOwner?.login.toLowerCase() === forkOwner.toLowerCase();
