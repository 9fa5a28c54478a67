import { realpath, rm } from 'node:fs/promises';
import type {
  Isolation,
  LeftOut,
  Project,
  SandboxSupport,
  Stage,
  StageId,
  TrustItem,
  Worktree,
  WorktreeOrigin,
} from '@callboard/contract';
import { compareVersions } from '../../lib/text.ts';
import { pathExists } from '../../platform/files.ts';
import type { LaunchRecord } from '../../store/records.ts';
import { requireStage, type Store } from '../../store/store.ts';
import { type LaunchSandbox, mainBranchFiles, sandboxPaths } from '../claude/launch-options.ts';
import { prepareSandboxEnvironment, sandboxScript } from '../claude/sandbox.ts';
import { changeSession } from '../session/change-session.ts';
import { addNotice, type Notice } from '../session/session-change.ts';
import type { SetUp } from '../shell/worktree-setup.ts';
import type { PushedWork } from '../worktrees/publishing.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';

/** The first version tested with everything that Callboard asks of the sandbox. Older ones ignore what they do not know. */
const OLDEST_WITH_SANDBOX = '2.1.330';

/** Whether a launch uses the sandbox, and the isolation that follows for its session. */
export interface SandboxChoice {
  /** Null: commands run outside. */
  sandbox: LaunchSandbox | null;
  isolation: Isolation;
}

export interface SandboxRequest {
  stage: Pick<Stage, 'id' | 'sandbox'>;
  project: Pick<Project, 'id' | 'path' | 'settings'>;
  worktree: string;
  dataDir: string;
  env: Readonly<Record<string, string>>;
  version: string | null;
  /** Commands that settings allow outside the sandbox. */
  excluded: readonly string[];
}

/** Decides by the settings of the stage and the project, and by what the machine supports. */
export async function chooseSandbox(
  wish: SandboxRequest,
  support: () => Promise<SandboxSupport & { isRefused: boolean }>,
): Promise<SandboxChoice> {
  const { stage, project, version } = wish;
  const { settings } = project;
  if (stage.sandbox === false) return outside('off-for-stage');
  if (stage.sandbox === null && settings.sandbox === null) return outside('undecided');
  if (stage.sandbox === null && settings.sandbox === false) return outside('off-for-project');
  if (version === null || compareVersions(version, OLDEST_WITH_SANDBOX) < 0) {
    const text = `Callboard uses the sandbox of Claude Code ${OLDEST_WITH_SANDBOX} and later. This one is ${version ?? 'of an unknown version'}.`;
    return outside('unavailable', text);
  }
  const found = await support();
  if (found.state !== 'works') return outside(found.isRefused ? 'refused-by-claude' : 'unavailable', found.why);
  const paths = [wish.dataDir, wish.worktree, project.path];
  const [dataDir, worktree, checkout] = await Promise.all(paths.map((path) => realpath(path)));
  if (dataDir === undefined || worktree === undefined || checkout === undefined) throw new Error('unreachable');
  const places = await sandboxPaths({ dataDir, checkout, env: wish.env });
  const own = await prepareSandboxEnvironment({
    dataDir,
    projectId: project.id,
    stageId: stage.id,
    worktree,
    env: wish.env,
  });
  const { sandboxAutoAllow: autoAllow, sandboxSockets: sockets } = settings;
  const readable = [...places.readable, ...own.readable];
  const kept = [...places.kept, ...(await mainBranchFiles(project.path))];
  const sandbox = { autoAllow, sockets, ...places, ...own, readable, kept };
  return { sandbox, isolation: isolationWith(sockets, wish.excluded) };
}

const outside = (reason: Isolation['reason'], detail: string | null = null): SandboxChoice => ({
  sandbox: null,
  isolation: { level: 'noticed', reason, detail },
});

function isolationWith(sockets: readonly string[], excluded: readonly string[]): Isolation {
  const holes = [
    ...(excluded.length === 0 ? [] : [`Settings let these commands run outside the sandbox: ${excluded.join(', ')}.`]),
    ...(sockets.length === 0 ? [] : [socketsText(sockets)]),
  ];
  if (holes.length === 0) return { level: 'prevented', reason: 'sandboxed', detail: null };
  return { level: 'noticed', reason: 'loosened', detail: holes.join(' ') };
}

const socketsText = (sockets: readonly string[]): string =>
  process.platform === 'linux'
    ? `The project allows ${sockets.join(', ')}. On Linux Claude Code cannot tell sockets apart, so commands may connect to every Unix socket that they can see.`
    : `The project allows ${sockets.join(', ')}. Whatever listens there may act outside the sandbox.`;

/** With `failIfUnavailable` the CLI exits at once if the sandbox lacks something (2.1.330). */
const REFUSAL = /sandbox required but unavailable: (.*)/;

/** Returns why Claude Code did not start in the sandbox; null if it ended for another reason. @param reason why the process ended, in words */
export const refusalOfSandbox = (reason: string): string | null => REFUSAL.exec(reason)?.[1] ?? null;

interface CleanUpDeps {
  store: Pick<Store, 'read'>;
  worktrees: Pick<Worktrees, 'clearSandbox'>;
  dataDir: string;
}

/**
 * Removes what the sandbox of an ended launch left in its worktree, unless the stage has a newer launch, and in the main
 * checkout, unless the project has another one. @throws as `Worktrees.clearSandbox`
 */
export async function cleanUpSandbox(
  { store, worktrees, dataDir }: CleanUpDeps,
  { id, stageId }: Pick<LaunchRecord, 'id' | 'stageId'>,
): Promise<void> {
  const { read } = store;
  const stage = await read.stages.find(stageId);
  const project = stage === null ? null : await read.projects.find(stage.projectId);
  if (stage?.worktree == null || project === null) return;
  const others = (await read.launches.listNotEnded()).filter((launch) => launch.id !== id);
  if (others.some((launch) => launch.stageId === stageId)) return;
  await rm(sandboxScript(dataDir, stageId), { force: true });
  const stages = new Map((await read.stages.list()).map((one) => [one.id, one.projectId]));
  const isLast = !others.some((launch) => stages.get(launch.stageId) === project.id);
  await worktrees.clearSandbox(project, stage.worktree, isLast);
}

/** What a launch is given because of settings files, and what is withheld. */
export interface LaunchTrust {
  /** Set if the repository's own settings are left out; null if they are read as usual. */
  leftOut: LeftOut | null;
  /** Agreed rules that Claude Code does not take from the files itself. */
  allow: string[];
  directories: string[];
  /** Rules in files that are read, but that nobody has agreed to: Claude Code asks instead. */
  ask: string[];
  /** Deny rules of files that are left out. */
  deny: string[];
  /** Preferences of files that are left out. */
  preferences: Record<string, unknown>;
  /** Rules and folders allowed in a terminal that nobody has agreed to here. */
  newPersonal: (Omit<TrustItem, 'isNew'> & { commands: readonly string[] })[];
  /** Whether agreed hooks of the repository run. */
  hasHooks: boolean;
  /** Commands that the files that are read let run outside the sandbox. */
  excluded: string[];
  /** The items in settings files at the launch, as `<file> <kind>:<value>`, and the allow rules among them. */
  atLaunch: { items: string[]; rules: string[] };
}

/** Says what people have agreed to. */
export interface LaunchTrustSource {
  /** Returns what a launch in this worktree may be given. */
  forLaunch(project: Project, worktree: Worktree): Promise<LaunchTrust>;
}

/** Where a launch works, and what it may use from settings files. */
export interface LaunchLocation {
  stage: Stage;
  project: Project;
  cwd: string;
  trust: LaunchTrust;
  /** The worktree was made for this launch. */
  isNew: boolean;
}

export interface PrepareDeps {
  store: Store;
  worktrees: Worktrees;
  trust: LaunchTrustSource;
  /** Where a new worktree begins, as the project wants it. */
  baseOf: SetUp['baseOf'];
}

/** Creates or finds the worktree of a stage, and stores it in the stage. @throws OperationalError `worktree_failed`, `fetch_failed`; Rejection `settings_invalid` */
export async function prepareWorktree(
  { store, worktrees, trust, baseOf }: PrepareDeps,
  { stageId, withoutFetch = false }: { stageId: StageId; withoutFetch?: boolean },
): Promise<LaunchLocation> {
  const stage = await store.read.stages.find(stageId);
  const project = stage === null ? null : await store.read.projects.find(stage.projectId);
  if (stage === null || project === null) throw new Error(`${stageId} or its project is gone`);
  await forgetLostSetUp(store, stage);
  const notices: string[] = [];
  const notify = (notice: string) => notices.push(notice);
  const start = { base: stage.base, branch: stage.branch };
  const pushed = stage.worktree === null ? await pushedElsewhere(worktrees, project, stage) : null;
  if (pushed !== null) start.base = pushed.commit;
  else if (stage.worktree === null && stage.origin !== null) start.base = stage.origin.commit;
  else if (stage.worktree === null) {
    const wish = await baseOf(stage);
    start.base = await worktrees.newestBase(project, { ...wish, fetch: wish.fetch && !withoutFetch });
  }
  const made = await worktrees.ensure(project, stageId, stage.worktree, { start, notify });
  const begunAt = pushed?.hasBase === true ? stage.lost?.worktree?.base : undefined;
  const worktree = begunAt === undefined ? made : { ...made, base: begunAt }; // all of the stage's work counts as its changes
  const isNew = stage.worktree === null;
  if (notices.length > 0 || isNew || !isSame(stage.worktree, worktree)) {
    await store.transact(async (tx) => {
      await changeSession(tx, stageId, (change) => {
        for (const text of notices) addNotice(change, tx.now, { level: 'warning', code: 'worktree', text });
      });
      const found = await requireStage(tx, stageId);
      const setup = isNew ? (found.setup ?? 'due') : found.setup;
      const updated = { ...found, worktree, setup, lost: null, updatedAt: tx.now };
      await tx.stages.update(updated);
      await tx.emit({ type: 'stage-updated', data: { stageId, stage: updated } });
    });
  }
  await takeOrigin({ store, worktrees }, project, stageId);
  return { stage, project, isNew, cwd: worktree.path, trust: await trust.forLaunch(project, worktree) };
}

/** Returns what was pushed last of a stage whose machine was lost; null if nothing was, or it was never there. */
async function pushedElsewhere(worktrees: Worktrees, project: Project, { lost }: Stage): Promise<PushedWork | null> {
  const there = lost?.worktree ?? null;
  return there === null ? null : worktrees.fetchPushed(project, there);
}

/**
 * Fills a new worktree with the files that it begins with, before anybody works in it. Each step may be repeated after an
 * interruption: the files, then that they are there, then that nothing needs to keep them any more.
 */
async function takeOrigin(
  { store, worktrees }: Pick<PrepareDeps, 'store' | 'worktrees'>,
  project: Project,
  stageId: StageId,
): Promise<void> {
  const save = (fields: Partial<WorktreeOrigin>) =>
    store.transact(async (tx) => {
      const found = await requireStage(tx, stageId);
      if (found.origin === null) return;
      const stage = { ...found, origin: { ...found.origin, ...fields }, updatedAt: tx.now };
      await tx.stages.update(stage);
      await tx.emit({ type: 'stage-updated', data: { stageId, stage } });
    });
  const { origin, worktree } = await requireStage(store.read, stageId);
  if (origin === null || worktree === null) return;
  if (!origin.isTaken && origin.tree !== null) {
    await worktrees.fill(worktree, origin.tree);
    await save({ isTaken: true });
  }
  if (origin.ref === null) return;
  await worktrees.dropRef(project, origin.ref);
  await save({ ref: null });
}

/** A worktree that is gone is recreated without what its set-up had made. */
async function forgetLostSetUp(store: Store, { id, worktree, setup }: Stage): Promise<void> {
  if (worktree === null || setup !== 'done' || (await pathExists(worktree.path))) return;
  await store.transact(async (tx) => {
    const updated = { ...(await requireStage(tx, id)), setup: 'due' as const, updatedAt: tx.now };
    await tx.stages.update(updated);
    await tx.emit({ type: 'stage-updated', data: { stageId: id, stage: updated } });
  });
}

const isSame = (one: Worktree | null, other: Worktree): boolean =>
  one?.path === other.path &&
  one.branch === other.branch &&
  one.base === other.base &&
  one.isCleanedUp === other.isCleanedUp;

/** How many unavailable settings are named; a longer list ends with the number of the others. */
const MAX_NAMED = 12;

/** The notice about a launch without the repository's settings, so that nobody believes they apply. */
export function leftOutNotice({ summary, unavailable }: LeftOut): Notice {
  const first = `This session started without ${summary}, because the repository’s current settings are not trusted.`;
  const others = unavailable.length - MAX_NAMED;
  const named = others > 0 ? [...unavailable.slice(0, MAX_NAMED), `${others} more`] : unavailable;
  const without = named.length === 0 ? '' : ` Not available: ${named.join(', ')}.`;
  const text = `${first}${without} Its CLAUDE.md, its deny and ask rules, and your own settings still apply. If you trust the repository, the next start uses the rest.`;
  return { level: 'warning', code: 'settings-left-out', text };
}

/** The notice about rules in files that nobody has agreed to: Claude Code asks in spite of them. */
export function newRulesNotice(rules: readonly { value: string; file: string }[]): Notice {
  const named = rules.map(({ value, file }) => `${value} (${file})`).join(', ');
  const text = `New rules that nobody has confirmed, so Claude Code asks despite them: ${named}. If you added them, confirm them on the project’s Rules page.`;
  return { level: 'warning', code: 'new-rules', text };
}
