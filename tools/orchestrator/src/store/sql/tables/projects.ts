import { Project, type ProjectId } from '@callboard/contract';
import type { Selectable } from 'kysely';
import { GitAgreement, gitSettingsOf } from '../../../lib/git-agreement.ts';
import type { ProjectsTable } from '../../ports/project-tables.ts';
import type { Database } from '../database.ts';
import { builder, param, prepare } from '../prepared.ts';
import type { Schema } from '../schema.ts';
import { mapRow } from './map-row.ts';
import { parsedOnce } from './parsed-once.ts';

type Row = Selectable<Schema['projects']>;

const parse = (row: Row): Project =>
  Project.parse({
    id: row.id,
    name: row.name,
    path: row.path,
    createdAt: row.created_at,
    settings: JSON.parse(row.settings),
    gitSettings: gitSettingsOf(agreementOf(row)?.pending ?? []),
    ...(row.trust !== null && { trust: JSON.parse(row.trust) }),
    file: row.file === null ? null : JSON.parse(row.file),
    ...(row.stage_folders !== null && { stageFolders: JSON.parse(row.stage_folders) }),
  });

/** Read several times a turn, and changed now and then. */
const known = parsedOnce((text) => parse(JSON.parse(text)));
const toProject = (row: Row): Project => known(row.id, JSON.stringify(row));

const agreementOf = ({ git }: Row): GitAgreement | null => (git === null ? null : GitAgreement.parse(JSON.parse(git)));

const byId = prepare(builder.selectFrom('projects').selectAll().where('id', '=', param('id')));
const byPath = prepare(builder.selectFrom('projects').selectAll().where('path', '=', param('path')));

/** Projects, oldest registration first. */
export function projectsTable(db: Database): ProjectsTable {
  const all = () => db.selectFrom('projects').selectAll();
  return {
    async list(): Promise<Project[]> {
      return (await all().orderBy('created_at').orderBy('id').execute()).map(toProject);
    },
    async find(id: ProjectId): Promise<Project | null> {
      const [row] = await byId(db, { id });
      return mapRow(row, toProject);
    },
    async findByPath(path: string): Promise<Project | null> {
      const [row] = await byPath(db, { path });
      return mapRow(row, toProject);
    },
    async save(project: Project): Promise<void> {
      const { id, name, path, createdAt } = project;
      const settings = JSON.stringify(project.settings);
      const trust = JSON.stringify(project.trust);
      const file = project.file === null ? null : JSON.stringify(project.file);
      const saved = { name, path, settings, trust, file, stage_folders: JSON.stringify(project.stageFolders) };
      await db
        .insertInto('projects')
        .values({ id, created_at: createdAt, ...saved })
        .onConflict((conflict) => conflict.column('id').doUpdateSet(saved))
        .execute();
    },
    async gitAgreement(id: ProjectId): Promise<GitAgreement | null> {
      const [row] = await byId(db, { id });
      return mapRow(row, agreementOf);
    },
    async saveGitAgreement(id: ProjectId, agreement: GitAgreement): Promise<void> {
      await db
        .updateTable('projects')
        .set({ git: JSON.stringify(agreement) })
        .where('id', '=', id)
        .execute();
    },
    async remove(id: ProjectId): Promise<void> {
      await db.deleteFrom('projects').where('id', '=', id).execute();
    },
  };
}
