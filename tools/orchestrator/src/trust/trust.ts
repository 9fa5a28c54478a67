import type { Project, ProjectFile, ProjectId, ProjectTrust, StageId, Worktree } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { forEachAtOnce } from '../lib/at-once.ts';
import { AppError, Rejection } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { AgreedSettings } from '../store/records.ts';
import { requireProject } from '../store/require.ts';
import type { Tx } from '../store/store.ts';
import type { RepositorySettings } from '../worktrees/repository-settings.ts';
import {
  type ChangesSinceLaunch,
  createChangesSinceLaunch,
  excludedIn,
  itemKey,
  type SettingsSources,
} from './changes-since-launch.ts';
import { contentOf, itemsOf } from './content.ts';
import { type LaunchTrust, launchTrust } from './launch-trust.ts';
import type { Found } from './settings-items.ts';
import { commandKey, isTrusted, personalKey, type ReviewedSettings, viewOf } from './trust-view.ts';
import { userItems, userRules } from './user-items.ts';

export interface TrustDeps extends SettingsSources {
  log: Logger;
  /** Reads Callboard's own file in the repository; with a worktree, in the commit it began at. */
  fileOf: (project: Project, worktree: Worktree | null) => Promise<{ file: ProjectFile | null; items: Found[] }>;
}

/** Which of a repository's own settings people agreed to, and what a launch gets because of that. */
export interface Trust extends ChangesSinceLaunch {
  /** Refreshes all projects after a start. A repository that cannot be read keeps its last known state. */
  refreshAll(): Promise<void>;
  /** Reads the settings of the repository and stores their state in the project. @throws Rejection `unknown_project` */
  refresh(projectId: ProjectId): Promise<Project>;
  /** Reads the settings in the worktree of a stage. @throws Rejection `unknown_project`, `unknown_stage` */
  inspectStage(projectId: ProjectId, stageId: StageId): Promise<ProjectTrust>;
  /**
   * Agrees to exactly the settings with this hash, in the repository or in the worktree of one of its stages.
   * @throws Rejection `unknown_project`, `trust_changed`
   */
  agree(projectId: ProjectId, hash: string, by: string): Promise<Project>;
  /** Returns what a launch in this worktree may be given. */
  forLaunch(project: Project, worktree: Worktree): Promise<LaunchTrust>;
  /**
   * Agrees to these rules and folders alone, as far as the settings of the main checkout or of the user have them now.
   * @throws Rejection `unknown_project`
   */
  agreeToRules(projectId: ProjectId, rules: readonly string[]): Promise<Project>;
}

interface Inspected extends ReviewedSettings {
  settings: RepositorySettings;
  file: ProjectFile | null;
}

const CHANGED = 'The settings have changed since you looked, so nothing was trusted. Review them again.';

/** How many commands of one repository stay agreed, on all its branches. */
const MAX_COMMANDS = 1_000;

/** How many states of a repository, on its branches, stay agreed. */
const MAX_CONTENTS = 100;

/** Each inspection takes several calls of git. */
const INSPECTIONS_AT_ONCE = 4;

const NOTHING_AGREED: AgreedSettings = { contents: [], personal: [], commands: [], adopt: null };

export function createTrust(deps: TrustDeps): Trust {
  const { store, log } = deps;
  const { inspect, find } = createInspection(deps);

  async function refresh(projectId: ProjectId): Promise<Project> {
    const project = await requireProject(store.read, projectId);
    let inspected = await inspect(project, null);
    if (inspected.agreed.adopt !== null) {
      await adopt(projectId, inspected);
      inspected = await inspect(project, null);
    }
    const state = { trust: viewOf(inspected), file: inspected.file };
    if (JSON.stringify(state) === JSON.stringify({ trust: project.trust, file: project.file })) return project;
    return store.transact(async (tx) => {
      const found = await tx.projects.find(projectId);
      const updated = { ...(found ?? project), ...state };
      if (found === null) return updated;
      await tx.projects.save(updated);
      await tx.emit({ type: 'project-updated', data: { projectId, project: updated } });
      return updated;
    });
  }

  const adopt = (projectId: ProjectId, { content, agreed }: Inspected) =>
    store.transact(async (tx) => {
      const personal = content.personal.map(personalKey);
      await tx.agreed.save(projectId, { ...agreed, personal, adopt: null });
      if (agreed.adopt === 'all' && content.hash !== '')
        await saveAgreement(tx, projectId, { content, ofFile: [] }, null);
    });

  return {
    ...createChangesSinceLaunch(deps),
    refresh,
    async refreshAll() {
      await forEachAtOnce(await store.read.projects.list(), INSPECTIONS_AT_ONCE, async ({ id }) => {
        await refresh(id).catch((error: unknown) => {
          if (!(error instanceof AppError)) throw error;
          log.warn({ reason: messageOf(error), projectId: id }, 'could not read the settings of a repository');
        });
      });
    },
    async inspectStage(projectId, stageId) {
      const project = await requireProject(store.read, projectId);
      const stage = await store.read.stages.find(stageId);
      if (stage === null || stage.projectId !== projectId)
        throw new Rejection('unknown_stage', `There is no stage ${stageId} in ${projectId}.`);
      return viewOf(await inspect(project, stage.worktree));
    },
    async agree(projectId, hash, by) {
      const inspected = await find(await requireProject(store.read, projectId), hash);
      if (inspected === null) throw new Rejection('trust_changed', CHANGED);
      await store.transact(async (tx) => {
        await saveAgreement(tx, projectId, inspected, by);
        if ((await tx.agreed.find('user')) !== null)
          await addPersonal(tx, 'user', inspected.newOfUser.map(personalKey));
      });
      return refresh(projectId);
    },
    async forLaunch(project, worktree) {
      await agreeToUser(deps);
      return trustForLaunch(deps, project, worktree, await inspect(project, worktree));
    },
    async agreeToRules(projectId, rules) {
      const { content, newOfUser } = await inspect(await requireProject(store.read, projectId), null);
      const wanted = (items: readonly Found[]) => items.filter(({ value }) => rules.includes(value)).map(personalKey);
      await store.transact(async (tx) => {
        for (const [scope, keys] of [
          [projectId, wanted(content.personal)],
          ['user', wanted(newOfUser)],
        ] as const)
          if (keys.length > 0) await addPersonal(tx, scope, keys);
      });
      return refresh(projectId);
    },
  };
}

/** Reads settings from disk beside what was agreed to. */
function createInspection({ store, worktrees, env, fileOf }: TrustDeps) {
  async function newOfUser(): Promise<Found[]> {
    const known = await store.read.agreed.find('user');
    if (known === null) return [];
    return (await userRules(env)).filter((rule) => !known.personal.includes(personalKey(rule)));
  }

  /** @param worktree null inspects the repository itself */
  async function inspect(project: Project, worktree: Worktree | null): Promise<Inspected> {
    const settings = await worktrees.settings(project, worktree);
    const content = await contentOf(settings);
    const agreed = (await store.read.agreed.find(project.id)) ?? NOTHING_AGREED;
    const { file, items: ofFile } = await fileOf(project, worktree);
    return { settings, content, agreed, newOfUser: await newOfUser(), file, ofFile };
  }

  /** Finds the settings with this hash: the repository first, then the worktrees of its stages, whose branches may differ. */
  async function find(project: Project, hash: string): Promise<Inspected | null> {
    const stages = (await store.read.stages.list()).filter(({ projectId }) => projectId === project.id);
    const found = await inspect(project, null);
    if (viewOf(found).hash === hash) return found;
    for (const { worktree } of stages) {
      if (worktree === null) continue;
      const inspected = await inspect(project, worktree);
      if (viewOf(inspected).hash === hash) return inspected;
    }
    return null;
  }

  return { inspect, find };
}

async function trustForLaunch(
  deps: TrustDeps,
  project: Project,
  worktree: Worktree,
  { settings, content, newOfUser, agreed }: Inspected,
): Promise<LaunchTrust> {
  const isPersonalAgreed = (item: Found) => agreed.personal.includes(personalKey(item));
  const agreement = { content, isTrusted: isTrusted({ content, agreed }), isPersonalAgreed, newOfUser };
  const files = await deps.worktrees.settingsFiles(project, worktree);
  const present = [...files.flatMap(itemsOf), ...(await userItems(deps.env))];
  const rules = present.flatMap(({ kind, value }) => (kind === 'rule' ? [value] : []));
  const given = await launchTrust(agreement, settings, worktree.path);
  const excluded = await excludedIn(deps, project, worktree, given.leftOut !== null);
  return { ...given, excluded, atLaunch: { items: present.map(itemKey), rules } };
}

/** Agrees to the user's own settings as they are at the very first launch: nothing that Claude ran can have written them. */
async function agreeToUser({ store, env }: TrustDeps): Promise<void> {
  if ((await store.read.agreed.find('user')) !== null) return;
  const personal = (await userRules(env)).map(personalKey);
  await store.transact(async (tx) => {
    if ((await tx.agreed.find('user')) === null) await tx.agreed.save('user', { ...NOTHING_AGREED, personal });
  });
}

async function saveAgreement(
  tx: Tx,
  projectId: ProjectId,
  { content, ofFile }: Pick<Inspected, 'content' | 'ofFile'>,
  by: string | null,
): Promise<void> {
  const agreed = (await tx.agreed.find(projectId)) ?? NOTHING_AGREED;
  const fingerprints = content.items.map(({ fingerprint }) => fingerprint);
  const others = agreed.contents.filter(({ hash }) => hash !== content.hash);
  const contents =
    content.hash === ''
      ? agreed.contents
      : [...others, { hash: content.hash, fingerprints, by, at: tx.now }].slice(-MAX_CONTENTS);
  const commands = [...new Set([...agreed.commands, ...ofFile.map(commandKey)])].slice(-MAX_COMMANDS);
  const personal = content.personal.map(personalKey);
  await tx.agreed.save(projectId, { ...agreed, adopt: null, contents, personal, commands });
}

async function addPersonal(tx: Tx, scope: ProjectId | 'user', keys: readonly string[]): Promise<void> {
  const known = (await tx.agreed.find(scope)) ?? NOTHING_AGREED;
  await tx.agreed.save(scope, { ...known, personal: [...new Set([...known.personal, ...keys])] });
}
