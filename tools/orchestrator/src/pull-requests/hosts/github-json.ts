import type { ChecksState, FailedCheck, HostComment } from '@callboard/contract';
import { z } from 'zod';
import type { HostIssue, HostPullRequest } from './code-host.ts';
import { OptionalWebAddress, WebAddress } from './web-address.ts';

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
export const THREADS = `query($owner: String!, $name: String!, $number: Int!) {
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
