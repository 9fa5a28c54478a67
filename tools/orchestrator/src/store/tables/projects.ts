import { Project, type ProjectId } from '@callboard/contract';
import type { Database } from '../database.ts';

type Row = { id: string; name: string; path: string; settings: string; created_at: string };

const toProject = (row: Row): Project =>
  Project.parse({
    id: row.id,
    name: row.name,
    path: row.path,
    createdAt: row.created_at,
    settings: JSON.parse(row.settings),
  });

/** Projects, by the time they were registered. */
export function projectsTable(db: Database) {
  const all = () => db.selectFrom('projects').selectAll();
  return {
    async list(): Promise<Project[]> {
      return (await all().orderBy('created_at').orderBy('id').execute()).map(toProject);
    },
    async find(id: ProjectId): Promise<Project | null> {
      const row = await all().where('id', '=', id).executeTakeFirst();
      return row === undefined ? null : toProject(row);
    },
    async findByPath(path: string): Promise<Project | null> {
      const row = await all().where('path', '=', path).executeTakeFirst();
      return row === undefined ? null : toProject(row);
    },
    async save(project: Project): Promise<void> {
      const { id, name, path, createdAt } = project;
      const settings = JSON.stringify(project.settings);
      await db
        .insertInto('projects')
        .values({ id, name, path, settings, created_at: createdAt })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ name, path, settings }))
        .execute();
    },
    async remove(id: ProjectId): Promise<void> {
      await db.deleteFrom('projects').where('id', '=', id).execute();
    },
  };
}
