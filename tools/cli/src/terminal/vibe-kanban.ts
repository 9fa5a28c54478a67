import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '@callboard/runtime/errors';
import { z } from 'zod';
import { CliError } from '../errors.ts';
import type { Platform } from '../platform.ts';

/** A project of vibe-kanban. */
export interface KanbanProject {
  readonly name: string;
  /** The paths of its repositories. */
  readonly repositories: readonly string[];
  /** The oldest first. */
  readonly tasks: readonly KanbanTask[];
}

/** A task of vibe-kanban. */
export interface KanbanTask {
  /** A UUID that follows from its id. */
  readonly creationId: string;
  readonly title: string;
  readonly description: string;
  readonly status: string;
  /** The newest first. */
  readonly attempts: readonly KanbanAttempt[];
}

/** An attempt at a task; newer versions of vibe-kanban call it a workspace. */
export interface KanbanAttempt {
  readonly branch: string;
  readonly worktree: string | null;
}

/** What a database of vibe-kanban has. */
export interface KanbanBoard {
  readonly projects: readonly KanbanProject[];
  /** How many workspaces belong to no task. */
  readonly looseWorkspaces: number;
}

/** Returns the files in which vibe-kanban may keep its data, the newest version's first. */
export function kanbanFiles({ env, home, platform }: Pick<Platform, 'env' | 'home' | 'platform'>): string[] {
  const folders: Partial<Record<NodeJS.Platform, string>> = {
    darwin: join(home, 'Library/Application Support/ai.bloop.vibe-kanban'),
    win32: join(env.APPDATA ?? home, 'bloop/vibe-kanban/data'),
  };
  const folder = folders[platform] ?? join(env.XDG_DATA_HOME || join(home, '.local/share'), 'vibe-kanban');
  return ['db.v2.sqlite', 'db.sqlite'].map((name) => join(folder, name));
}

/** Ids are 16 bytes; a fork may have text. */
const Id = z.union([z.instanceof(Uint8Array).transform((bytes) => Buffer.from(bytes).toString('hex')), z.string()]);
const text = z.string().nullable().default(null);

const ProjectRow = z.object({ id: Id, name: z.string(), git_repo_path: text });
const RepoRow = z.object({ id: Id, path: z.string() });
const ProjectRepoRow = z.object({ project_id: Id, repo_id: Id });
const TaskRow = z.object({
  id: Id,
  project_id: Id,
  title: z.string(),
  description: text,
  status: z.string(),
  created_at: z.string().default(''),
});
const AttemptRow = z.object({
  task_id: Id.nullable().default(null),
  branch: text,
  container_ref: text,
  worktree_path: text,
  created_at: z.string().default(''),
});

/** How long another program may lock the file before reading it fails. */
const LOCKED_MS = 5000;

/**
 * Reads a database of vibe-kanban, and changes nothing in it. The tables that exist tell its version: `task_attempts` became
 * `workspaces`, and `projects.git_repo_path` became `repos` with `project_repos`.
 * @throws CliError if it cannot be read, or lacks a table
 */
export function readKanban(file: string): KanbanBoard {
  try {
    using database = new DatabaseSync(file, { readOnly: true, timeout: LOCKED_MS });
    database.exec('BEGIN'); // all tables as they are at one moment
    return boardOf(database, file);
  } catch (error) {
    if (error instanceof CliError) throw error;
    const why = error instanceof z.ZodError ? z.prettifyError(error) : messageOf(error);
    throw new CliError(`${file} cannot be read as a database of vibe-kanban: ${why}.`);
  }
}

function boardOf(database: DatabaseSync, file: string): KanbanBoard {
  const master = z.array(z.object({ name: z.string() }));
  const known = new Set(
    master.parse(database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()).map(({ name }) => name),
  );
  const requireTable = (...names: string[]) => {
    const name = names.find((each) => known.has(each));
    if (name !== undefined) return name;
    throw new CliError(
      `${file} is no database of a known version of vibe-kanban: it has no table ${names.join(' or ')}.`,
    );
  };
  const rowsOf = <T>(row: z.ZodType<T>, table: string): T[] =>
    z.array(row).parse(database.prepare(`SELECT * FROM "${table}"`).all());

  const projects = rowsOf(ProjectRow, requireTable('projects'));
  const tasks = rowsOf(TaskRow, requireTable('tasks')).sort((a, b) => a.created_at.localeCompare(b.created_at));
  const attempts = rowsOf(AttemptRow, requireTable('workspaces', 'task_attempts'));
  attempts.sort((a, b) => b.created_at.localeCompare(a.created_at));
  const hasPaths = projects.every(({ git_repo_path }) => git_repo_path !== null);
  const needsRepos = known.has('repos') || !hasPaths;
  const paths = new Map(needsRepos ? rowsOf(RepoRow, requireTable('repos')).map(({ id, path }) => [id, path]) : []);
  const links = needsRepos ? rowsOf(ProjectRepoRow, requireTable('project_repos')) : [];

  return {
    looseWorkspaces: attempts.filter(({ task_id }) => task_id === null).length,
    projects: projects.map(({ id, name, git_repo_path }) => ({
      name,
      repositories: [
        ...(git_repo_path === null ? [] : [git_repo_path]),
        ...links.flatMap((link) => (link.project_id === id ? (paths.get(link.repo_id) ?? []) : [])),
      ],
      tasks: tasks.flatMap((task) => (task.project_id === id ? taskOf(task, attempts) : [])),
    })),
  };
}

const taskOf = (task: z.infer<typeof TaskRow>, attempts: readonly z.infer<typeof AttemptRow>[]): KanbanTask => ({
  creationId: creationIdOf(task.id),
  title: task.title,
  description: task.description ?? '',
  status: task.status,
  attempts: attempts.flatMap(({ task_id, branch, container_ref, worktree_path }) =>
    task_id === task.id && branch !== null && branch !== ''
      ? [{ branch, worktree: container_ref ?? worktree_path }]
      : [],
  ),
});

/** The same task always has the same one, so that importing it again creates no second stage. */
function creationIdOf(taskId: string): string {
  const hex = createHash('sha256').update(`vibe-kanban ${taskId}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
