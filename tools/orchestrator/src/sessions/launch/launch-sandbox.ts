import { realpath } from 'node:fs/promises';
import type { Isolation, Project, SandboxSupport, Stage } from '@callboard/contract';
import { prepareSandboxEnvironment } from '../../claude/sandbox/sandbox-environment.ts';
import { type LaunchSandbox, mainBranchFiles, sandboxPlaces } from '../../claude/sandbox/sandbox-settings.ts';
import { compareVersions } from '../../lib/versions.ts';

/** The first version that was tried with all that Callboard asks of the sandbox. An older one passes over what it does not know. */
const OLDEST_WITH_SANDBOX = '2.1.330';

/** What a launch does about the sandbox, and what holds for its session because of it. */
export interface SandboxChoice {
  /** Null: commands run outside. */
  sandbox: LaunchSandbox | null;
  isolation: Isolation;
}

export interface SandboxWish {
  stage: Pick<Stage, 'id' | 'sandbox'>;
  project: Pick<Project, 'id' | 'path' | 'settings'>;
  worktree: string;
  dataDir: string;
  env: Readonly<Record<string, string>>;
  version: string | null;
  /** Commands that settings let run outside of it. */
  excluded: readonly string[];
}

/** Decides by what stage, project, machine and settings say. */
export async function chooseSandbox(
  wish: SandboxWish,
  support: () => Promise<SandboxSupport & { isRefused: boolean }>,
): Promise<SandboxChoice> {
  const { stage, project, version } = wish;
  const { settings } = project;
  if (stage.sandbox === false) return outside('off-for-stage');
  if (stage.sandbox === null && settings.sandbox === null) return outside('undecided');
  if (stage.sandbox === null && settings.sandbox === false) return outside('off-for-project');
  if (version === null || compareVersions(version, OLDEST_WITH_SANDBOX) < 0) {
    const words = `Callboard uses the sandbox of Claude Code ${OLDEST_WITH_SANDBOX} and later; this is ${version ?? 'a version that it does not tell'}.`;
    return outside('unavailable', words);
  }
  const found = await support();
  if (found.state !== 'works') return outside(found.isRefused ? 'refused-by-claude' : 'unavailable', found.why);
  const paths = [wish.dataDir, wish.worktree, project.path];
  const [dataDir, worktree, checkout] = await Promise.all(paths.map((path) => realpath(path)));
  if (dataDir === undefined || worktree === undefined || checkout === undefined) throw new Error('unreachable');
  const places = await sandboxPlaces({ dataDir, checkout, env: wish.env });
  const own = await prepareSandboxEnvironment({
    ...{ dataDir, projectId: project.id, stageId: stage.id, worktree, env: wish.env },
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
    ...(excluded.length === 0
      ? []
      : [`Settings let these commands run outside of the sandbox: ${excluded.join(', ')}.`]),
    ...(sockets.length === 0 ? [] : [socketWords(sockets)]),
  ];
  if (holes.length === 0) return { level: 'prevented', reason: 'sandboxed', detail: null };
  return { level: 'noticed', reason: 'loosened', detail: holes.join(' ') };
}

const socketWords = (sockets: readonly string[]): string =>
  process.platform === 'linux'
    ? `The project allows ${sockets.join(', ')}. On Linux Claude Code cannot tell sockets apart, so commands may connect to every Unix socket that they can see.`
    : `The project allows ${sockets.join(', ')}. What listens there may do things outside of the sandbox.`;

/** With `failIfUnavailable` the CLI ends at once where it lacks something for the sandbox (2.1.330). */
const REFUSAL = /sandbox required but unavailable: (.*)/;

/** Why Claude Code did not start in the sandbox; null where it ended for another reason. @param reason why the process ended, in words */
export const refusalOfSandbox = (reason: string): string | null => REFUSAL.exec(reason)?.[1] ?? null;
