import { createHash } from 'node:crypto';
import {
  type Issue,
  type IssueList,
  type IssuesQuery,
  LISTED_ISSUES,
  type Project,
  type ProjectId,
  type Stage,
  type StageId,
  type StageIssue,
} from '@callboard/contract';
import { createKeyedMutex } from '../lib/keyed-mutex.ts';
import { requireProject } from '../store/require.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import { type FoundHost, findCodeHost } from './find-code-host.ts';
import type { CodeHost, HostIssue } from './hosts/code-host.ts';
import { problemOf, Refusal } from './refusal.ts';
import { noRemote, requireFound } from './stage-host.ts';

/** Issues of the repository on its code host, and the stages made of them. */
export interface HostIssues {
  /** Lists open issues. Says in the list why there are none, if the host cannot be asked. @throws Rejection `unknown_project` */
  list(projectId: ProjectId, query: IssuesQuery): Promise<IssueList>;
  /**
   * Makes a stage of each issue, or brings the one that was made of it up to date. Each is stored by itself, so after an
   * interruption the same can be asked again.
   * @throws Rejection `unknown_project`; Refusal if the host cannot be asked
   */
  take(projectId: ProjectId, numbers: readonly number[]): Promise<TakenIssues>;
}

export interface TakenIssues {
  ids: StageId[];
  created: number;
  updated: number;
  kept: StageId[];
}

export interface HostIssuesDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'remote' | 'gitSettings'>;
  /** The user's environment. */
  env: Readonly<Record<string, string>>;
  /** Makes a stage. `fields` may refuse, in the same transaction. */
  create: (
    stage: { projectId: ProjectId; title: string; prompt: string },
    more: { fields: () => Promise<{ issue: StageIssue }> },
  ) => Promise<Stage>;
  signal: AbortSignal;
}

export function createHostIssues(deps: HostIssuesDeps): HostIssues {
  const { store, signal } = deps;
  /** By project: a second request finds the stages of the first. */
  const takings = createKeyedMutex();

  return {
    async list(projectId, query) {
      const project = await requireProject(store.read, projectId);
      const found = await locate(deps, project);
      const { address, kind } = found;
      const place = { repository: address === null ? null : `${address.host}/${address.path}`, host: kind };
      try {
        const reported = await requireFound(found).issues(query, signal);
        const made = new Map((await store.read.stages.list()).flatMap(byIssue(projectId)));
        const issues = reported.map(
          ({ body: _, ...issue }): Issue => ({ ...issue, stageId: made.get(issue.url) ?? null }),
        );
        return { ...place, issues: issues.slice(0, LISTED_ISSUES), problem: null };
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return { ...place, issues: [], problem: problemOf(error) };
      }
    },

    async take(projectId, numbers) {
      const project = await requireProject(store.read, projectId);
      return takings(projectId, async () => {
        const host = requireFound(await locate(deps, project));
        const taken: TakenIssues = { ids: [], created: 0, updated: 0, kept: [] };
        for (const number of new Set(numbers)) await take(deps, { host, projectId, number, taken });
        return taken;
      });
    },
  };
}

async function locate({ worktrees, env, signal }: HostIssuesDeps, project: Project): Promise<FoundHost> {
  const remote = await worktrees.remote(project);
  if (remote === null) return { address: null, kind: null, host: null, parent: null, refusal: noRemote(project) };
  const hasPendingSettings = async (one: Project) => (await worktrees.gitSettings(one)).length > 0;
  return findCodeHost({ env, hasPendingSettings }, project, remote.urls, signal);
}

const byIssue =
  (projectId: ProjectId) =>
  ({ projectId: other, issue, id }: Stage): [string, StageId][] =>
    issue === null || other !== projectId ? [] : [[issue.url, id]];

interface Removing {
  host: CodeHost;
  projectId: ProjectId;
  number: number;
  taken: TakenIssues;
}

async function take(deps: HostIssuesDeps, { host, projectId, number, taken }: Removing): Promise<void> {
  const issue = await host.issue(number, deps.signal);
  const made = { title: titleOf(issue), prompt: promptOf(issue) };
  const origin: StageIssue = { host: host.kind, number, url: issue.url, taken: signOf(made) };
  const stages = await deps.store.read.stages.list();
  const before = stages.find((stage) => stage.projectId === projectId && stage.issue?.url === issue.url);
  if (before === undefined) {
    const stage = await deps.create({ projectId, ...made }, { fields: async () => ({ issue: origin }) });
    taken.ids.push(stage.id);
    taken.created += 1;
    return;
  }
  taken.ids.push(before.id);
  const outcome = await update(deps.store, before.id, { ...made, issue: origin });
  if (outcome === 'updated') taken.updated += 1;
  if (outcome === 'kept') taken.kept.push(before.id);
}

/** `kept`: the stage was started, or somebody has edited it here since it was made of the issue. */
function update(
  store: Store,
  id: StageId,
  fields: Pick<Stage, 'title' | 'prompt' | 'issue'>,
): Promise<'updated' | 'kept' | 'unchanged'> {
  return store.transact(async (tx) => {
    const stage = await tx.stages.find(id);
    if (stage === null || stage.issue?.taken === fields.issue?.taken) return 'unchanged';
    if ((await tx.sessions.find(id)) !== null || stage.issue?.taken !== signOf(stage)) return 'kept';
    const updated = { ...stage, ...fields, updatedAt: tx.now };
    await tx.stages.update(updated);
    await tx.emit({ type: 'stage-updated', data: { stageId: id, stage: updated } });
    return 'updated';
  });
}

const MAX_TITLE_LENGTH = 300;
const MAX_BODY_LENGTH = 150_000;

const titleOf = ({ title, number }: HostIssue): string => title.trim().slice(0, MAX_TITLE_LENGTH) || `Issue ${number}`;

/** The text of an issue is what anybody wrote, so the prompt says where it is from. */
function promptOf({ number, url, title, body }: HostIssue): string {
  const text = body.trim();
  const cut = text.length <= MAX_BODY_LENGTH ? text : `${text.slice(0, MAX_BODY_LENGTH)}\n\n[the rest is in the issue]`;
  return [`Resolve issue #${number}: ${title.trim()}`, cut, url].filter((part) => part !== '').join('\n\n');
}

const signOf = ({ title, prompt }: Pick<Stage, 'title' | 'prompt'>): string =>
  createHash('sha256').update(`${title}\n${prompt}`).digest('hex').slice(0, 16);
