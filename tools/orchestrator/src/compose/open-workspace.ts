import type { StageId } from '@callboard/contract';
import { createStageSettings, type StageSettings } from '../project-settings/project-settings.ts';
import type { Store } from '../store/store.ts';
import { type CleanUp, createCleanUp } from '../worktree-commands/clean-up.ts';
import { createIsolationTrial } from '../worktree-commands/command-place.ts';
import { createDevServers, type DevServers } from '../worktree-commands/dev-servers.ts';
import { createEditors, type Editors } from '../worktree-commands/editors.ts';
import { createPorts, type Ports } from '../worktree-commands/ports.ts';
import { createSetUp, type SetUp } from '../worktree-commands/set-up.ts';
import { createWorktreeCommands, type WorktreeCommands } from '../worktree-commands/worktree-commands.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { StartContext } from './start-context.ts';

/** What projects say about their worktrees, and what they run there. */
export interface Workspace {
  stageSettings: StageSettings;
  ports: Ports;
  worktreeCommands: WorktreeCommands;
  setUp: SetUp;
  cleanUp: CleanUp;
  devServers: DevServers;
  editors: Editors;
}

/** Builds it, after which the commands of an orchestrator that was killed are ended. */
export function openWorkspace(
  { config, log, platform, limits, life }: StartContext,
  { store, worktrees, env }: { store: Store; worktrees: Worktrees; env: Record<string, string> },
): Workspace {
  const { dataDir } = config;
  const { requireInPlace } = worktrees;
  const stageSettings = createStageSettings({ store, worktrees });
  const ports = createPorts({ store, dataDir });
  const worktreeCommands = createWorktreeCommands({
    store,
    platform,
    log,
    dataDir,
    env,
    ports,
    requireInPlace,
    graceMs: limits.graces.signalMs,
    isolation: createIsolationTrial(env),
    cachesOf: async (stageId) => {
      const { settings, fromFile, isAgreed } = await stageSettings.ofStage(stageId);
      return isAgreed || !fromFile.includes('caches') ? settings.caches : [];
    },
  });
  const settingsOf = stageSettings.requireUsable;
  const setUp = createSetUp({
    store,
    log,
    commands: worktreeCommands,
    settingsOf,
    settingsOfNew: stageSettings.ofNewStage,
  });
  const cleanUp = createCleanUp({ store, log, commands: worktreeCommands, ports, settingsOf });
  const namesOf = async (stageId: StageId) => (await stageSettings.ofStage(stageId)).settings;
  const devServers = createDevServers({ store, commands: worktreeCommands, settingsOf, namesOf });
  life.onStop('clean-up', cleanUp.settled);
  life.onStop('worktree commands', worktreeCommands.shutDown);
  return {
    stageSettings,
    ports,
    worktreeCommands,
    setUp,
    cleanUp,
    devServers,
    editors: createEditors({ store, requireInPlace, env }),
  };
}
