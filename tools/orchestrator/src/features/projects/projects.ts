import type { Dirent } from 'node:fs';
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, sep } from 'node:path';
import {
  type CapabilitiesReply,
  type Folder,
  type FolderList,
  type NewProject,
  NOTHING_TO_AGREE,
  NOTHING_TO_TRUST,
  type Project,
  ProjectId,
  type ProjectPatch,
  ProjectSettings,
  type StageId,
} from '@callboard/contract';
import { systemCode } from '@callboard/runtime/errors';
import type { CommandHandlers } from '../../core/commands/command-handler.ts';
import { forgetPausesOf } from '../../core/session/spending-limits.ts';
import { refusePin } from '../../core/session/stages.ts';
import type { Worktrees } from '../../core/worktrees/worktrees.ts';
import { Rejection } from '../../lib/errors.ts';
import { expandHome, pathExists } from '../../platform/files.ts';
import { locateCheckout } from '../../platform/git/locate-checkout.ts';
import { requireProject, requireStage, type Store, type Tx } from '../../store/store.ts';
import type { ProjectGitSettings } from './git-settings.ts';

/** The repositories on the board. */
export interface Projects {
  /**
   * Registers the repository that contains the path. `created` is false if it was already registered.
   * @throws Rejection `not_a_repository`, `no_commits`
   */
  register(project: NewProject): Promise<{ project: Project; created: boolean }>;
  /** The repository in which Callboard was started; null if it is none, or a project already. */
  repositoryHere(): Promise<string | null>;
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
export interface Installations {
  /** One name for all addresses of a remote; null for a folder, and where no other machine asks for it. */
  nameRemote(addresses: () => Promise<readonly string[]>): Promise<string | null>;
  /** Finds the project that another machine has of this repository, and gives it a place on this one; null if there is none. */
  join(tx: Tx, repository: { root: string; remote: string | null; name: string | null }): Promise<Project | null>;
  /** Gives the project a place on this machine. */
  add(tx: Tx, project: Project, remote: string | null): Promise<void>;
}

/** One machine has everything. */
export const ONLY_HERE: Installations = {
  nameRemote: async () => null,
  join: async () => null,
  add: async () => undefined,
};

export interface ProjectsDeps extends FolderDeps {
  /** As `StagesDeps.requireMachine`. */
  requireMachine?: ((pin: string) => Promise<void>) | undefined;
  places?: Installations | undefined;
  store: Store;
  worktrees: Worktrees;
}

export function createProjects({
  store,
  worktrees,
  places: installations = ONLY_HERE,
  requireMachine = refusePin,
  ...places
}: ProjectsDeps): Projects {
  const remoteOf = (root: string): Promise<string | null> =>
    installations.nameRemote(async () => (await worktrees.remote({ path: root }))?.urls ?? []);

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
        const joined = await installations.join(tx, { root, remote, name: name ?? null });
        if (joined !== null) return { project: await save(tx, joined), created: false };
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
        await installations.add(tx, project, remote);
        return { project, created: true };
      });
      // A person set up its current git settings, so they count as agreed.
      if (registered.created) await worktrees.gitSettings(registered.project);
      return registered;
    },
    remoteOf,
    async repositoryHere() {
      const here = await startedInRepository(places);
      const root = here === null ? null : await realpath(here.path);
      return root === null || (await store.read.projects.findByPath(root)) !== null ? null : root;
    },
    folders: (path) => listFolders(places, path),
    async update(id, patch) {
      const pin = patch.settings?.machine;
      const before = await requireProject(store.read, id);
      // One that it has already may be of a machine that is gone by now.
      if (pin != null && pin !== before.settings.machine) await requireMachine(pin);
      const changed = await store.transact(async (tx) => {
        const project = await requireProject(tx, id);
        const settings = ProjectSettings.parse({ ...project.settings, ...defined(patch.settings) });
        return save(tx, { ...project, name: patch.name ?? project.name, settings });
      });
      if (!changed.settings.spareWorktree) await worktrees.removeSpare(changed);
      return changed;
    },
    watchFolder: (id, path) =>
      store.transact(async (tx) => {
        const project = await requireProject(tx, id);
        const { settings } = project;
        if (settings.stageFolders.includes(path)) return;
        await save(tx, { ...project, settings: { ...settings, stageFolders: [...settings.stageFolders, path] } });
      }),
    async remove(id) {
      // Before and after: a project that is forgotten must leave nothing in its repository, and one may be made in between.
      await worktrees.removeSpare(await requireProject(store.read, id));
      const removed = await store.transact(async (tx) => {
        const project = await requireProject(tx, id);
        if (await tx.stages.isUsed(id))
          throw new Rejection('project_in_use', `${id} still has stages. Delete its stages, then remove the project.`);
        await tx.projects.remove(id);
        await tx.agreed.remove(id);
        await forgetPausesOf(tx, { projectId: id });
        await tx.budgets.remove({ projectId: id });
        await tx.emit({ type: 'project-removed', data: { projectId: id } });
        return project;
      });
      await worktrees.removeSpare(removed);
      return removed;
    },
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

export interface FolderDeps {
  home: string;
  /** Callboard's own folder, which is not listed. */
  dataDir: string;
  /** Where Callboard was started; null if unknown. */
  startedIn?: string | null;
}

const MAX = 500;
/** Folders of the system that hold no files of anybody. */
const NOT_LISTED = ['/proc', '/sys', '/dev'];

/**
 * Lists the folders within a folder, for choosing a repository. The first list, of the home folder, begins with the
 * repository in which Callboard was started. Files and hidden folders are left out, and nothing of their
 * content is read.
 * @throws Rejection `bad_request`, `unknown_folder`, `folder_unreadable`
 */
export async function listFolders(
  { home, dataDir, startedIn = null }: FolderDeps,
  given?: string,
): Promise<FolderList> {
  const wanted = given === undefined ? await existingFolder(home) : expandHome(given, home);
  if (!isAbsolute(wanted) || wanted.includes('\0'))
    throw new Rejection('bad_request', `${given} is not an absolute path. Start it with / or ~.`);
  const path = await realpath(wanted).catch((error: unknown) => Promise.reject(refusal(error, wanted)));
  const isOff = (folder: string) =>
    [...NOT_LISTED, dataDir].some((off) => folder === off || folder.startsWith(`${off}${sep}`));
  if (isOff(path)) throw new Rejection('folder_unreadable', `${path} is a system folder, which is not listed.`);
  if (!(await stat(path)).isDirectory()) throw new Rejection('unknown_folder', `${path} is a file, not a folder.`);
  const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) =>
    Promise.reject(refusal(error, path)),
  );
  const shown = entries.filter((entry) => !entry.name.startsWith('.') && !isOff(join(path, entry.name)));
  const found = (await Promise.all(shown.map((entry) => folderOf(path, entry)))).filter((folder) => folder !== null);
  found.sort((a, b) => Number(b.isRepository) - Number(a.isRepository) || a.name.localeCompare(b.name, 'en'));
  const here = given === undefined && startedIn !== null ? await repositoryAbove(startedIn) : null;
  const offered = here === null || isOff(here.path) ? [] : [here];
  const folders = [...offered, ...found.filter((one) => one.path !== here?.path)];
  return {
    folder: { name: basename(path) || path, path, isRepository: await isRepository(path) },
    parent: path === dirname(path) ? null : dirname(path),
    folders: folders.slice(0, MAX),
    here: offered[0]?.path ?? null,
    isCut: folders.length > MAX,
  };
}

/** A service account may have no home folder: the nearest one above it that exists is listed instead. */
async function existingFolder(path: string): Promise<string> {
  return path === dirname(path) || (await pathExists(path)) ? path : existingFolder(dirname(path));
}

async function folderOf(parent: string, entry: Dirent): Promise<Folder | null> {
  const path = join(parent, entry.name);
  const isFolder = entry.isSymbolicLink()
    ? await stat(path).then(
        (found) => found.isDirectory(),
        () => false,
      )
    : entry.isDirectory();
  return isFolder ? { name: entry.name, path, isRepository: await isRepository(path) } : null;
}

/** The repository that a folder is in; null if it is in none. */
async function repositoryAbove(folder: string): Promise<Folder | null> {
  if (await isRepository(folder)) return { name: basename(folder) || folder, path: folder, isRepository: true };
  return folder === dirname(folder) ? null : repositoryAbove(dirname(folder));
}

/**
 * The main checkout in which Callboard was started. Not one that is the whole home folder: whoever keeps their settings in git would
 * be asked at every start.
 */
async function startedInRepository({ home, startedIn = null }: FolderDeps): Promise<Folder | null> {
  const here = startedIn === null ? null : await repositoryAbove(startedIn);
  return here !== null && here.path !== home && locateCheckout(here.path)?.isPlain === true ? here : null;
}

/** A worktree has a file `.git`. Whether git accepts it shows when it is chosen. */
const isRepository = (path: string): Promise<boolean> =>
  lstat(join(path, '.git')).then(
    () => true,
    () => false,
  );

function refusal(error: unknown, path: string): unknown {
  switch (systemCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return new Rejection('unknown_folder', `There is no folder ${path}.`);
    case 'EACCES':
    case 'EPERM':
      return new Rejection('folder_unreadable', `Callboard is not allowed to read ${path}.`);
    default:
      return error;
  }
}

export interface ProjectDeps {
  store: Store;
  projects: Projects;
  gitSettings: ProjectGitSettings;
  trust: { refresh(projectId: ProjectId): Promise<Project>; refreshAll(): Promise<void> };
}

type ProjectCommands =
  | 'create_project'
  | 'update_project'
  | 'agree_git_settings'
  | 'remove_project'
  | 'list_folders'
  | 'get_projects';

export function projectCommands(deps: ProjectDeps): Pick<CommandHandlers, ProjectCommands> {
  const { store, projects, gitSettings, trust } = deps;
  return {
    create_project: async (input) => {
      const { project, created } = await projects.register(input);
      return { project: await trust.refresh(project.id), created };
    },
    update_project: async ({ projectId, ...patch }) => ({ project: await projects.update(projectId, patch) }),
    agree_git_settings: async ({ projectId, hash }) => ({ project: await gitSettings.agree(projectId, hash) }),
    remove_project: async ({ projectId }) => ({ project: await projects.remove(projectId) }),
    list_folders: ({ path }) => projects.folders(path),
    get_projects: async () => {
      await trust.refreshAll();
      return { projects: await store.read.projects.list() };
    },
  };
}

/**
 * Returns what Claude Code offers, as reported at the newest launch: of the stage itself, else of another stage of its
 * project, else of any stage. The last leaves out commands that are not built in, since they belong to another repository.
 * @throws Rejection `unknown_stage`
 */
export async function capabilitiesOf(
  store: Store,
  { stageId, projectId }: { stageId?: StageId | undefined; projectId?: ProjectId | undefined },
): Promise<CapabilitiesReply> {
  const all = store.read.capabilities;
  const stage = stageId === undefined ? null : await requireStage(store.read, stageId);
  const own = stage === null ? null : await all.find(stage.id);
  if (own !== null) return { capabilities: own, from: 'stage' };
  const project = stage?.projectId ?? projectId;
  const ofProject = project === undefined ? null : await all.newestOf(project);
  if (ofProject !== null) return { capabilities: ofProject, from: 'project' };
  const newest = await all.newest();
  if (newest === null) return { capabilities: null, from: null };
  return {
    capabilities: { ...newest, commands: newest.commands.filter((command) => command.isBuiltIn) },
    from: 'installation',
  };
}
