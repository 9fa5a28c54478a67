import {
  type CodeHostKind,
  isOpenPullRequest,
  type Project,
  type PullRequestPlan,
  type Stage,
  type StageId,
  type Worktree,
} from '@callboard/contract';
import { z } from 'zod';
import type { PushPlan } from '../../core/worktrees/publishing.ts';
import type { Worktrees } from '../../core/worktrees/worktrees.ts';
import { Rejection } from '../../lib/errors.ts';
import { run } from '../../platform/processes.ts';
import { requireProject, requireStage, type Store } from '../../store/store.ts';
import {
  type CodeHost,
  compareUrl,
  draftPullRequest,
  type HostRepository,
  kindOf,
  mustProgram,
  type ProgramDeps,
  parseAnswer,
  parseRemote,
  problemOf,
  Refusal,
  type RemoteAddress,
} from './code-host.ts';
import { createGitHub } from './github.ts';
import { createGitLab, type GitLabFork } from './gitlab.ts';

export interface FindHostDeps {
  /** The user's environment. */
  env: Readonly<Record<string, string>>;
  /** Whether the repository has settings of git that nobody agreed to. */
  hasPendingSettings: (project: Project) => Promise<boolean>;
  /** Without it, forks are taken for themselves: what is wanted is in the remote itself. */
  findParent?: FindParent;
  /** The page of the stage's open pull request, which stays where it is; null if there is none. */
  openedAt?: string | null;
}

/** Where a repository's pull requests are; `host` is null if no program can be used, and `refusal` says why. */
export interface FoundHost {
  address: RemoteAddress | null;
  kind: CodeHostKind | null;
  host: CodeHost | null;
  refusal: Refusal | null;
  /** The repository that the pull request goes into if the remote is a fork of it. */
  parent: RemoteAddress | null;
}

/** With an address, the programs need no folder of a repository, so they find nothing there to run. */
const NOWHERE = '/';
const CHECK_INTERVAL_MS = 15_000;
const CREATE = { github: createGitHub, gitlab: createGitLab } as const;

/** Finds the code host of a remote by its addresses, and the program for it among those that are installed. */
export async function findCodeHost(
  deps: FindHostDeps,
  project: Project,
  urls: readonly string[],
  signal: AbortSignal,
): Promise<FoundHost> {
  const address = await addressOf(deps, urls, signal);
  if (address === null) return inFolder(deps, project, urls, signal);
  const named = kindOf(address.host);
  const found = named === null ? await asked(deps, address, signal) : create(deps, named, address);
  if (found === null) {
    const message = `${address.host} is not a code host that gh or glab is logged in to on this machine. Log in there, or open the pull request by hand.`;
    const command = `gh auth login --hostname ${address.host}`;
    return {
      address,
      kind: null,
      host: null,
      parent: null,
      refusal: new Refusal('no_code_host', message, { command }),
    };
  }
  const here = { address, kind: found.kind, host: found, parent: null };
  const refusal = await refusalBy(found, signal);
  if (refusal !== null || isIn(address, deps.openedAt ?? null)) return { ...here, refusal };
  return inParent(deps, here, address, signal);
}

const isIn = ({ host, path }: RemoteAddress, url: string | null): boolean =>
  url?.toLowerCase().startsWith(`https://${host}/${path}/`.toLowerCase()) === true;

/** The pull requests of a fork are in its parent. */
async function inParent(
  { env, findParent }: FindHostDeps,
  found: Omit<FoundHost, 'refusal' | 'kind'> & { kind: CodeHostKind },
  address: RemoteAddress,
  signal: AbortSignal,
): Promise<FoundHost> {
  const here = { ...found, refusal: null };
  try {
    const parent = (await findParent?.(found.kind, address, signal)) ?? null;
    if (parent === null) return here;
    const base = { ...address, path: parent.path };
    const place = { env, address: base, folder: NOWHERE };
    const host =
      parent.kind === 'github'
        ? createGitHub({ ...place, forkOwner: parent.forkOwner })
        : createGitLab({ ...place, fork: parent.fork });
    return { ...here, host, parent: base };
  } catch (error) {
    if (error instanceof Refusal) return { ...here, refusal: error }; // it may be a fork: then it would go to the wrong place
    throw error;
  }
}

const create = ({ env }: FindHostDeps, kind: CodeHostKind, address: ProgramDeps['address']): CodeHost =>
  CREATE[kind]({ env, address, folder: NOWHERE });

async function refusalBy(host: CodeHost, signal: AbortSignal): Promise<Refusal | null> {
  try {
    await host.requireLogin(signal);
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

/** The first address on a code host. Another name for a host, from the configuration of ssh, is followed. */
async function addressOf(
  { env }: FindHostDeps,
  urls: readonly string[],
  signal: AbortSignal,
): Promise<RemoteAddress | null> {
  const addresses = urls.map(parseRemote).filter((address) => address !== null);
  const known = addresses.find(({ host }) => kindOf(host) !== null);
  if (known !== undefined) return known;
  const [first] = addresses;
  if (first === undefined) return null;
  if (!first.isSsh) return first;
  const job = { command: 'ssh', args: ['-G', '--', first.host], env, timeoutMs: CHECK_INTERVAL_MS };
  const { failed, stdout } = await run(job, signal);
  const name = failed ? undefined : /^hostname (\S+)$/m.exec(stdout)?.[1];
  return name === undefined ? first : { ...first, host: name.toLowerCase() };
}

/** A host of a company: whichever program is logged in to it. */
async function asked(deps: FindHostDeps, address: RemoteAddress, signal: AbortSignal): Promise<CodeHost | null> {
  for (const kind of ['github', 'gitlab'] as const) {
    const host = create(deps, kind, address);
    if ((await refusalBy(host, signal)) === null) return host;
  }
  return null;
}

/** A remote without a host, such as a folder: a program that is installed may know what it stands for. */
async function inFolder(
  deps: FindHostDeps,
  project: Project,
  urls: readonly string[],
  signal: AbortSignal,
): Promise<FoundHost> {
  const none = { address: null, kind: null, host: null, parent: null };
  const what = urls[0] ?? 'The remote';
  if (await deps.hasPendingSettings(project)) {
    const message = `${what} names no code host, and the repository has settings of git that nobody agreed to. Agree to them on the project’s page first.`;
    return { ...none, refusal: new Refusal('no_code_host', message) };
  }
  for (const kind of ['github', 'gitlab'] as const) {
    const host = CREATE[kind]({ env: deps.env, address: null, folder: project.path });
    const refusal = await refusalBy(host, signal);
    if (refusal?.code === 'no_code_host') continue;
    return { ...none, kind, host, refusal };
  }
  const message = `${what} names no code host, and neither gh nor glab is installed on this machine.`;
  return { ...none, refusal: new Refusal('no_code_host', message) };
}

type Address = NonNullable<HostRepository['address']>;

/** The repository that another one is a fork of. Its pull requests are there. */
export type Parent = {
  /** `owner/name` of the parent. */
  path: string;
} & ({ kind: 'github'; forkOwner: string } | { kind: 'gitlab'; fork: GitLabFork });

/** Returns the repository that the pull requests of another one go into; null if that is itself. @throws Refusal as `CodeHost` */
export type FindParent = (kind: CodeHostKind, address: Address, signal: AbortSignal) => Promise<Parent | null>;

/** The fields are in gh 2.23 (Debian 12). */
const OnGitHub = z.object({
  isFork: z.boolean(),
  parent: z.object({ name: z.string(), owner: z.object({ login: z.string() }) }).nullish(),
});

const OnGitLab = z.object({
  id: z.int(),
  forked_from_project: z.object({ id: z.int(), path_with_namespace: z.string() }).nullish(),
  /** A setting of the fork: its merge requests go into itself. */
  mr_default_target_self: z.boolean().nullish(),
});

/** A repository seldom becomes a fork, or stops being one. */
const KNOWN_MS = 10 * 60 * 1_000;

/** Asks `gh` or `glab` for the parents of repositories, and remembers the answers for a while. */
export function createParentLookup(env: Readonly<Record<string, string>>): FindParent {
  const known = new Map<string, { at: number; parent: Parent | null }>();
  return async (kind, address, signal) => {
    const key = `${kind} ${address.host}/${address.path}`;
    const found = known.get(key);
    if (found !== undefined && performance.now() - found.at < KNOWN_MS) return found.parent;
    const ask = (program: string, args: string[]) =>
      mustProgram({ env, address, folder: '/' }, { program, args }, signal);
    const parent = await (kind === 'github' ? onGitHub(address, ask) : onGitLab(address, ask));
    known.set(key, { at: performance.now(), parent });
    return parent;
  };
}

type Ask = (program: string, args: string[]) => Promise<string>;

async function onGitHub({ host, path }: Address, ask: Ask): Promise<Parent | null> {
  const reported = await ask('gh', ['repo', 'view', `${host}/${path}`, '--json', 'isFork,parent']);
  const { isFork, parent } = parseAnswer('gh', OnGitHub, reported);
  if (!isFork || parent == null) return null;
  const [forkOwner = ''] = path.split('/');
  return { kind: 'github', path: `${parent.owner.login}/${parent.name}`, forkOwner };
}

async function onGitLab({ host, path }: Address, ask: Ask): Promise<Parent | null> {
  const reported = await ask('glab', ['api', '--hostname', host, `projects/${encodeURIComponent(path)}`]);
  const { id, forked_from_project: from, mr_default_target_self: isOwn } = parseAnswer('glab', OnGitLab, reported);
  if (from == null || isOwn === true) return null;
  return { kind: 'gitlab', path: from.path_with_namespace, fork: { path, id, parentId: from.id } };
}

export interface StageHostDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'planPush' | 'gitSettings'>;
  /** The user's environment. */
  env: Readonly<Record<string, string>>;
  findParent: FindParent;
  /** Returns the branch that the project's stages begin at, if the project says so. */
  baseOf?: (stageId: StageId) => Promise<string | null>;
}

/** A stage with the place of its pull request. */
export interface StageOnHost {
  stage: Stage;
  project: Project;
  worktree: Worktree;
  push: PushPlan;
  found: FoundHost;
  /** Why no pull request can be opened now; null if one can. */
  refusal: Refusal | null;
}

/** @throws Rejection `unknown_stage`; `no_session` if the stage never ran; `merge_refused` if its work is gone */
export async function locateStage(
  { store, worktrees, env, baseOf, findParent }: StageHostDeps,
  stageId: StageId,
  signal: AbortSignal,
): Promise<StageOnHost> {
  const stage = await requireStage(store.read, stageId);
  const project = await requireProject(store.read, stage.projectId);
  const { worktree } = stage;
  if (worktree === null) throw new Rejection('no_session', `${stage.title} was never started, so it has no work.`);
  const wanted = stage.base ?? (await baseOf?.(stageId)) ?? null;
  const push = await worktrees.planPush(project, worktree, wanted);
  const hasPendingSettings = async (one: Project) => (await worktrees.gitSettings(one)).length > 0;
  const { pullRequest } = stage;
  const openedAt = pullRequest !== null && isOpenPullRequest(pullRequest) ? pullRequest.url : null;
  const found: FoundHost =
    push.remote === null
      ? { address: null, kind: null, host: null, parent: null, refusal: noRemote(project) }
      : await findCodeHost({ env, hasPendingSettings, findParent, openedAt }, project, push.remote.urls, signal);
  return { stage, project, worktree, push, found, refusal: refusalOf(push, found) };
}

function refusalOf(
  { base, branch, commits, uncommittedCount, placeholderRefusal }: PushPlan,
  found: FoundHost,
): Refusal | null {
  const { refusal, address, kind } = found;
  if (refusal?.code === 'no_remote') return refusal;
  if (base === null)
    return new Refusal(
      'pull_request_refused',
      'The main checkout is on no branch, so there is none to open a pull request to. Check one out there, or give the stage a base branch.',
    );
  if (branch === base)
    return new Refusal(
      'pull_request_refused',
      `The stage works on ${base} itself, so there is nothing to open a pull request to.`,
    );
  if (refusal !== null) {
    const byHand = address === null || kind === null ? null : compareUrl(kind, address, { base, branch });
    return refusal.withUrl(byHand);
  }
  if (placeholderRefusal !== null) return new Refusal('push_refused', placeholderRefusal);
  if (commits === 0 && uncommittedCount === 0)
    return new Refusal('pull_request_refused', `${branch} has nothing that ${base} lacks.`);
  return null;
}

/** The refusal for a repository without a remote. */
export function noRemote({ path }: Project): Refusal {
  const message = `The repository at ${path} has no remote, so there is nowhere to push to. Add one, then try again.`;
  return new Refusal('no_remote', message, { command: `git -C ${quoted(path)} remote add origin <address>` });
}

const quoted = (path: string): string => (/^[\w/.@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`);

/** Returns the host of a stage's pull request. @throws Refusal if no program can ask it */
export const requireHost = ({ found }: StageOnHost): CodeHost => requireFound(found);

/** @throws Refusal if no program can ask the host */
export function requireFound(found: FoundHost): CodeHost {
  if (found.refusal !== null) throw found.refusal;
  if (found.host === null) throw new Refusal('no_code_host', 'No program for this code host is installed.');
  return found.host;
}

/** What a person is shown before a pull request is opened. */
export function planOf({ stage, push, found, refusal }: StageOnHost): PullRequestPlan {
  const { remote, subjects, placeholderRefusal: _placeholderRefusal, ...rest } = push;
  const { address, kind, parent } = found;
  return {
    ...rest,
    ...draftPullRequest(stage, subjects),
    remote: remote?.name ?? null,
    repository: address === null ? null : `${address.host}/${address.path}`,
    parent: parent === null ? null : `${parent.host}/${parent.path}`,
    host: kind,
    problem: refusal === null ? null : problemOf(refusal),
  };
}
