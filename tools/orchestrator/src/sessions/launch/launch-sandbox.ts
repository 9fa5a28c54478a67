import { realpath, rm } from 'node:fs/promises';
import type { Isolation, Project, SandboxSupport, Stage } from '@callboard/contract';
import { prepareSandboxEnvironment, sandboxScript } from '../../claude/sandbox/sandbox-environment.ts';
import { type LaunchSandbox, mainBranchFiles, sandboxPaths } from '../../claude/sandbox/sandbox-settings.ts';
import { compareVersions } from '../../lib/versions.ts';
import type { LaunchRecord } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import type { Worktrees } from '../../worktrees/worktrees.ts';

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
