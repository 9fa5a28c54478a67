import { LISTED_ISSUES } from '@callboard/contract';
import type { Ran } from '../../lib/processes/processes.ts';
import { Refusal } from '../refusal.ts';
import type { CheckLog, CodeHost, NewPullRequest } from './code-host.ts';
import {
  commentsOf,
  FIELDS,
  failedChecksOf,
  GitHubIssue,
  GitHubPullRequest,
  ISSUE_FIELDS,
  jobIn,
  plainLog,
  pullRequestOf,
  THREADS,
  Threads,
} from './github-json.ts';
import { parseAnswer } from './parse-answer.ts';
import { mustProgram, notLoggedIn, type ProgramDeps, refusalOf, tryProgram } from './run-program.ts';

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
