import { DatabaseSync } from 'node:sqlite';

/** A task for the sample. */
export interface SampleTask {
  readonly title: string;
  readonly description?: string;
  readonly status?: string;
  /** The branches of its attempts, the oldest first. */
  readonly branches?: readonly string[];
}

/** Ids of 16 bytes, as vibe-kanban has them. */
const idOf = (number: number) => new Uint8Array(16).fill(number);

const TASKS =
  'CREATE TABLE tasks (id BLOB PRIMARY KEY, project_id BLOB NOT NULL, title TEXT NOT NULL, description TEXT, status TEXT NOT NULL, created_at TEXT NOT NULL)';
const attemptsTable = (name: string) =>
  `CREATE TABLE ${name} (id BLOB PRIMARY KEY, task_id BLOB, container_ref TEXT, branch TEXT, created_at TEXT NOT NULL)`;

/** The tables of 2026, and those until December 2025; only what matters here, with the names and types of their migrations. */
const SCHEMAS = {
  new: [
    'CREATE TABLE projects (id BLOB PRIMARY KEY, name TEXT NOT NULL)',
    'CREATE TABLE repos (id BLOB PRIMARY KEY, path TEXT NOT NULL UNIQUE, name TEXT NOT NULL)',
    'CREATE TABLE project_repos (id BLOB PRIMARY KEY, project_id BLOB NOT NULL, repo_id BLOB NOT NULL)',
    attemptsTable('workspaces'),
  ],
  old: [
    'CREATE TABLE projects (id BLOB PRIMARY KEY, name TEXT NOT NULL, git_repo_path TEXT NOT NULL)',
    attemptsTable('task_attempts'),
  ],
} as const;

/**
 * Creates a database as vibe-kanban has it, with one project and write-ahead logging.
 * @returns the database, still open, as while vibe-kanban runs
 */
export function createKanban(
  file: string,
  version: keyof typeof SCHEMAS,
  repositories: readonly string[],
  tasks: readonly SampleTask[],
): DatabaseSync {
  const database = new DatabaseSync(file);
  database.exec(['PRAGMA journal_mode = WAL', TASKS, ...SCHEMAS[version]].join(';\n'));
  const insert = (table: string, row: Record<string, string | Uint8Array | null>) =>
    database
      .prepare(`INSERT INTO ${table} (${Object.keys(row)}) VALUES (${Object.keys(row).map(() => '?')})`)
      .run(...Object.values(row));
  const project = { id: idOf(1), name: 'Shop' };
  insert('projects', version === 'old' ? { ...project, git_repo_path: repositories[0] ?? '' } : project);
  if (version === 'new')
    for (const [index, path] of repositories.entries()) {
      insert('repos', { id: idOf(index), path, name: path });
      insert('project_repos', { id: idOf(index), project_id: idOf(1), repo_id: idOf(index) });
    }
  let attempts = 0;
  for (const [index, { title, description = null, status = 'todo', branches = [] }] of tasks.entries()) {
    const created_at = `2026-01-0${index + 1} 10:00:00.000`;
    insert('tasks', { id: idOf(index), project_id: idOf(1), title, description, status, created_at });
    for (const branch of branches) {
      attempts += 1;
      const table = version === 'old' ? 'task_attempts' : 'workspaces';
      const at = { container_ref: `/worktrees/${branch}`, created_at: `2026-01-0${attempts} 12:00:00.000` };
      insert(table, { id: idOf(attempts), task_id: idOf(index), branch, ...at });
    }
  }
  return database;
}
