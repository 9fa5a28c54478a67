import type { CodeHostKind, PullRequest, PullRequestPlan, StageView } from '@callboard/contract';
import { count } from './format.ts';

/** A part of what is said about a pull request, in a row and at the end of Changes. */
export interface PullRequestPart {
  text: string;
  tone: 'plain' | 'fail' | 'merged';
}

export const HOST_NAMES: Readonly<Record<CodeHostKind, string>> = { github: 'GitHub', gitlab: 'GitLab' };

/** "#12 open", "checks failing", "2 comments". */
export function pullRequestDeps(pullRequest: PullRequest): PullRequestPart[] {
  const { number, state, checks, unresolved, conflicts, base } = pullRequest;
  const plain = (text: string): PullRequestPart => ({ text, tone: 'plain' });
  if (state === 'merged') return [{ text: `#${number} merged into ${base}`, tone: 'merged' }];
  if (state === 'closed') return [plain(`#${number} closed without merging`)];
  return [
    plain(`#${number} ${state}`),
    ...(conflicts ? [{ text: `conflicts with ${base}`, tone: 'fail' as const }] : []),
    ...(checks === 'failing' ? [{ text: 'checks failing', tone: 'fail' as const }] : []),
    ...(checks === 'pending' ? [plain('checks running')] : []),
    ...(checks === 'passing' ? [plain('checks passed')] : []),
    ...(unresolved !== null && unresolved > 0 ? [plain(count(unresolved, 'comment'))] : []),
  ];
}

/** "#12 open, checks failing, 2 comments" */
export const pullRequestText = (pullRequest: PullRequest): string =>
  pullRequestDeps(pullRequest)
    .map(({ text }) => text)
    .join(', ');

/** Whether the stage's branch has something that its open pull request lacks. */
export const hasMoreToPush = ({ unpushed, uncommittedCount }: PullRequestPlan): boolean =>
  unpushed > 0 || uncommittedCount > 0;

/** "acme/shop" */
const nameOf = (repository: string): string => repository.slice(repository.indexOf('/') + 1);

/** The button that does it: it names what happens, and the target. */
export function openActionText({ base, parent, uncommittedCount }: PullRequestPlan, open: PullRequest | null): string {
  const commits = uncommittedCount > 0;
  if (open !== null) return commits ? `Commit and push to #${open.number}` : `Push to #${open.number}`;
  const to = `a pull request to ${base ?? ''}${parent === null ? '' : ` of ${nameOf(parent)}`}`;
  return commits ? `Commit and open ${to}` : `Open ${to}`;
}

/** What the action would do: one line. */
export function openPlanText(plan: PullRequestPlan, open: PullRequest | null): string {
  const { branch, base, remote, repository, parent, commits, unpushed, files, uncommittedCount } = plan;
  const where = repository ?? remote ?? '';
  const first = uncommittedCount > 0 ? `Commit ${count(uncommittedCount, 'file')} on ${branch}, then push` : 'Push';
  const more = uncommittedCount > 0 ? 1 : 0;
  if (open !== null) return `${first} ${count(unpushed + more, 'commit')} to #${open.number} on ${where}.`;
  const what = `${count(commits + more, 'commit')}, ${count(files, 'file')}`;
  const into = parent === null ? (base ?? '') : `${base ?? ''} of ${parent}, of which it is a fork`;
  return `${first} ${branch} (${what}) to ${where}, and open a pull request to ${into}.`;
}

/** Why a stage was not finished by itself, or its pull request not opened, in a few words for its row; null if it was. */
export function finishingText({ finishing }: Pick<StageView, 'finishing'>): string | null {
  if (finishing?.state !== 'refused' || finishing.turn === null) return null;
  const what = finishing.way === 'merge' ? 'not merged' : 'no pull request';
  const [cause = ''] = (finishing.problem?.message ?? '').split('\n');
  return `${what}: ${cause}`;
}
