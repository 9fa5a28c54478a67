import { basename } from 'node:path';
import {
  type FolderList,
  type NewProject,
  NOTHING_TO_AGREE,
  NOTHING_TO_TRUST,
  type Project,
  ProjectId,
  type ProjectPatch,
  ProjectSettings,
} from '@callboard/contract';
import { forgetPausesOf } from '../domain/holds.ts';
import { Rejection } from '../lib/errors.ts';
import { expandHome } from '../lib/expand-home.ts';
import { requireProject } from '../store/require.ts';
import type { Store, Tx } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import { type FolderDeps, listFolders } from './list-folders.ts';
import { refusePin } from './new-stage.ts';

/** The repositories on the board. */
export interface Projects {
  /**
   * Registers the repository that contains the path. `created` is false if it was already registered.
   * @throws Rejection `not_a_repository`, `no_commits`
   */
  register(project: NewProject): Promise<{ project: Project; created: boolean }>;
  /** Lists folders, for choosing a repository. @throws Rejection `bad_request`, `unknown_folder`, `folder_unreadable` */
  folders(path?: string): Promise<FolderList>;
  /** Changes the name or the settings. @throws Rejection `unknown_project` */
  update(id: ProjectId, patch: ProjectPatch): Promise<Project>;
  /** Adds a folder to those whose stages follow their files. @throws Rejection `unknown_project` */
  watchFolder(id: ProjectId, path: string): Promise<void>;
  /** The name of a repository's remote for other machines; null if it has none. @throws OperationalError `worktree_failed` */
  remoteOf(root: string): Promise<string | null>;
  /** Takes it off the board. @throws Rejection `unknown_project`; `project_in_use` if it has stages */
  remove(id: ProjectId): Promise<Project>;
}

/** Where repositories are, if several machines share the store. */
interface SharedInstallations {
  /** One name for all addresses of a remote; null for a folder. */
  nameOf(address: string): string | null;
  /** As `Places.join` and `Places.add` of the machines. */
  join(tx: Tx, repository: { root: string; remote: string | null; name: string | null }): Promise<Project | null>;
  add(tx: Tx, project: Project, remote: string | null): Promise<void>;
}

export interface ProjectsDeps extends FolderDeps {
  /** As `StagesDeps.requireMachine`. */
  requireMachine?: ((pin: string) => Promise<void>) | undefined;
  /** Left out where one machine has everything. */
  places?: SharedInstallations | undefined;
  store: Store;
  worktrees: Worktrees;
}

export function createProjects({
  store,
  worktrees,
  places: shared,
  requireMachine = refusePin,
  ...places
}: ProjectsDeps): Projects {
  async function remoteOf(root: string): Promise<string | null> {
    const remote = shared === undefined ? null : await worktrees.remote({ path: root });
    return remote?.urls.map((url) => shared?.nameOf(url) ?? null).find((found) => found !== null) ?? null;
  }

  async function save(tx: Tx, project: Project): Promise<Project> {
    await tx.projects.save(project);
    await tx.emit({ type: 'project-updated', data: { projectId: project.id, project } });
    return project;
  }

  return {
    async register({ path, name, settings }) {
      const { root } = await worktrees.inspect(expandHome(path, places.home));
      const remote = await remoteOf(root);
      const registered = await store.transact(async (tx) => {
        const known = await tx.projects.findByPath(root);
        if (known !== null) return { project: known, created: false };
        const joined = await shared?.join(tx, { root, remote, name: name ?? null });
        if (joined != null) return { project: await save(tx, joined), created: false };
        const id = await unusedId(tx, basename(root));
        const project: Project = {
          id,
          name: name ?? basename(root),
          path: root,
          createdAt: tx.now,
          settings: ProjectSettings.parse({ sandbox: true, ...defined(settings) }),
          gitSettings: NOTHING_TO_AGREE,
          trust: NOTHING_TO_TRUST,
          file: null,
          stageFolders: [],
        };
        await save(tx, project);
        await shared?.add(tx, project, remote);
        return { project, created: true };
      });
      // A person set up its current git settings, so they count as agreed.
      if (registered.created) await worktrees.gitSettings(registered.project);
      return registered;
    },
    remoteOf,
    folders: (path) => listFolders(places, path),
    async update(id, patch) {
      const pin = patch.settings?.machine;
      const before = await requireProject(store.read, id);
      // One that it has already may be of a machine that is gone by now.
      if (pin != null && pin !== before.settings.machine) await requireMachine(pin);
      return store.transact(async (tx) => {
        const project = await requireProject(tx, id);
        const settings = ProjectSettings.parse({ ...project.settings, ...defined(patch.settings) });
        return save(tx, { ...project, name: patch.name ?? project.name, settings });
      });
    },
    watchFolder: (id, path) =>
      store.transact(async (tx) => {
        const project = await requireProject(tx, id);
        const { settings } = project;
        if (settings.stageFolders.includes(path)) return;
        await save(tx, { ...project, settings: { ...settings, stageFolders: [...settings.stageFolders, path] } });
      }),
    remove: (id) =>
      store.transact(async (tx) => {
        const project = await requireProject(tx, id);
        if (await tx.stages.isUsed(id))
          throw new Rejection('project_in_use', `${id} still has stages. Delete its stages, then remove the project.`);
        await tx.projects.remove(id);
        await tx.agreed.remove(id);
        await forgetPausesOf(tx, { projectId: id });
        await tx.budgets.remove({ projectId: id });
        await tx.emit({ type: 'project-removed', data: { projectId: id } });
        return project;
      }),
  };
}

/** Returns the patch without undefined fields. */
const defined = (patch: object | undefined): object =>
  Object.fromEntries(Object.entries(patch ?? {}).filter(([, value]) => value !== undefined));

/** Returns a readable, unused id: the folder's name, with a number if necessary. */
async function unusedId(tx: Tx, folder: string): Promise<ProjectId> {
  const slug =
    folder
      .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 80) || 'project';
  for (let n = 1; ; n++) {
    const id = ProjectId.parse(n === 1 ? slug : `${slug}-${n}`);
    if ((await tx.projects.find(id)) === null) return id;
  }
}
