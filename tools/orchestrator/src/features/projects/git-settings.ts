import { access, realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type GitSettingItem, type Project, ProjectId } from '@callboard/contract';
import type { Worktrees } from '../../core/worktrees/worktrees.ts';
import { createKeyedMutex, forEachAtOnce } from '../../lib/async.ts';
import { Rejection } from '../../lib/errors.ts';
import { type GitAgreement, gitSettingsOf, isAgreed } from '../../lib/git-agreement.ts';
import type { Repositories } from '../../platform/git/locate-checkout.ts';
import type { Logger } from '../../platform/runtime.ts';
import { requireProject, type Store, type Tx } from '../../store/store.ts';

/** The git settings of repositories that run programs, and whether a person has agreed to them. */
export interface ProjectGitSettings {
  /**
   * Agrees to the settings with this hash. Every later call of git runs their programs.
   * @throws Rejection `unknown_project`; `git_settings_changed` if the current settings have another hash
   */
  agree(id: ProjectId, hash: string): Promise<Project>;
  /** Checks all repositories. At the first check of a repository, its settings count as set up by a person. */
  checkAll(): Promise<void>;
}

export interface GitSettingsDeps {
  store: Store;
  worktrees: Pick<Worktrees, 'gitSettings'>;
  repositories: StoredRepositories;
  log: Logger;
}

/** Each check calls git. */
const CHECKS_AT_ONCE = 4;

export function createGitSettings({ store, worktrees, repositories, log }: GitSettingsDeps): ProjectGitSettings {
  return {
    async agree(id, hash) {
      await worktrees.gitSettings(await requireProject(store.read, id));
      await repositories.settled(id);
      if (await repositories.agree(id, hash)) return requireProject(store.read, id);
      const advice = 'Review them again, then agree.';
      throw new Rejection('git_settings_changed', `The git settings of ${id} have changed since you looked. ${advice}`);
    },

    async checkAll() {
      await forEachAtOnce(await store.read.projects.list(), CHECKS_AT_ONCE, async (project) => {
        await worktrees.gitSettings(project).catch((error: unknown) => {
          log.warn({ err: error, projectId: project.id }, 'git settings not read');
        });
      });
    },
  };
}

/** What the store knows about the repositories in which git runs. */
export interface StoredRepositories extends Repositories {
  /** Resolves when every report about this project so far is stored. */
  settled(id: ProjectId): Promise<void>;
  /** Marks the pending settings as agreed if they have this hash. @returns whether they had it */
  agree(id: ProjectId, hash: string): Promise<boolean>;
}

export function createRepositories(parts: { store: Store; dataDir: string; log: Logger }): StoredRepositories {
  const { store, dataDir, log } = parts;
  const exclusively = createKeyedMutex();
  /** By project, then by checkout: the settings that nobody has agreed to. */
  const pendingOf = new Map<string, Map<string, readonly GitSettingItem[]>>();
  let worktrees: Promise<string> | undefined;

  /** Returns the project whose stage has its worktree at this folder; null if there is none. */
  async function projectOfWorktree(folder: string): Promise<ProjectId | null> {
    worktrees ??= realpath(dataDir).then((real) => join(real, 'worktrees'));
    const [id = '', stage, ...rest] = relative(await worktrees, folder).split('/');
    return stage === undefined || rest.length > 0 || id === '..' ? null : (ProjectId.safeParse(id).data ?? null);
  }

  /** Returns the pending settings of all checkouts of the project; forgets checkouts that no longer exist. */
  async function pendingIn(id: ProjectId): Promise<GitSettingItem[]> {
    const checkouts = pendingOf.get(id) ?? new Map<string, readonly GitSettingItem[]>();
    for (const checkout of checkouts.keys()) if (!(await isThere(checkout))) checkouts.delete(checkout);
    return [...checkouts.values()].flat();
  }

  async function applyPending(id: ProjectId): Promise<void> {
    const found = await pendingIn(id);
    await store.transact(async (tx) => {
      const before = await tx.projects.gitAgreement(id);
      if (before === null) return;
      const pending = found.filter((item) => !isAgreed(before.agreed, item));
      if (gitSettingsOf(pending).hash === gitSettingsOf(before.pending).hash) return;
      await save(tx, id, { ...before, pending });
    });
  }

  return {
    async find(folder) {
      const id = await projectOfWorktree(folder);
      const project = id === null ? await store.read.projects.findByPath(folder) : await store.read.projects.find(id);
      if (project === null) return null;
      const agreement = await store.read.projects.gitAgreement(project.id);
      return { id: project.id, root: project.path, agreed: agreement?.agreed ?? null };
    },

    agreeOnFirstUse: (id, items) =>
      store.transact(async (tx) => {
        const projectId = ProjectId.parse(id);
        const known = await tx.projects.gitAgreement(projectId);
        if (known === null) await save(tx, projectId, { agreed: [...items], pending: [] });
        return known?.agreed ?? items;
      }),

    reportPending(id, checkout, pending) {
      const projectId = ProjectId.parse(id);
      const checkouts = pendingOf.get(id) ?? new Map<string, readonly GitSettingItem[]>();
      pendingOf.set(id, checkouts.set(checkout, pending));
      exclusively(id, () => applyPending(projectId)).catch((error: unknown) => {
        log.error({ err: error, projectId }, 'pending git settings not stored');
      });
    },

    settled: (id) => exclusively(id, async () => undefined),

    agree: (id, hash) =>
      store.transact(async (tx) => {
        const agreement = await tx.projects.gitAgreement(id);
        if (agreement === null || gitSettingsOf(agreement.pending).hash !== hash) return false;
        await save(tx, id, { agreed: [...agreement.agreed, ...agreement.pending], pending: [] });
        return true;
      }),
  };
}

async function save(tx: Tx, id: ProjectId, agreement: GitAgreement): Promise<void> {
  await tx.projects.saveGitAgreement(id, agreement);
  const project = await tx.projects.find(id);
  if (project !== null) await tx.emit({ type: 'project-updated', data: { projectId: id, project } });
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
