import {
  Capabilities,
  PermissionRule,
  Project,
  type ProjectId,
  RequestId,
  StageId,
  UsedRule,
  WorktreeCommand,
} from '@callboard/contract';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { type Selectable, sql } from 'kysely';
import { z } from 'zod';
import { GitAgreement, gitSettingsOf } from '../../lib/git-agreement.ts';
import type { DenialRetryIntent, RulesTable, RuleUse } from '../ports/session-port.ts';
import type {
  AgreedScope,
  AgreedTable,
  CapabilitiesTable,
  MergeIntentsTable,
  PortRange,
  PortRangesTable,
  ProjectsTable,
  StoredCommand,
  WorktreeCommandsTable,
} from '../ports/stage-port.ts';
import { AgreedSettings, MergeIntent } from '../records.ts';
import { builder, dialectOf, param, prepare } from './prepared.ts';
import { documentOf, mapRow, parsedOnce } from './rows.ts';
import type { Database, Schema } from './schema.ts';

const scopeOf = (scope: AgreedScope) => (scope === 'user' ? 'user' : `project:${scope}`);

/** See `AgreedTable`. */
export function agreedTable(db: Database): AgreedTable {
  return {
    async find(scope: AgreedScope): Promise<AgreedSettings | null> {
      const row = await db
        .selectFrom('agreed')
        .select('document')
        .where('scope', '=', scopeOf(scope))
        .executeTakeFirst();
      return mapRow(row, documentOf(AgreedSettings));
    },
    async save(scope: AgreedScope, agreed: AgreedSettings): Promise<void> {
      const document = JSON.stringify(agreed);
      await db
        .insertInto('agreed')
        .values({ scope: scopeOf(scope), document })
        .onConflict((conflict) => conflict.column('scope').doUpdateSet({ document }))
        .execute();
    },
    async remove(scope: AgreedScope): Promise<void> {
      await db.deleteFrom('agreed').where('scope', '=', scopeOf(scope)).execute();
    },
  };
}

const toCapabilities = documentOf(Capabilities);

/** See `CapabilitiesTable`. */
export function capabilitiesTable(db: Database): CapabilitiesTable {
  const newest = () => db.selectFrom('capabilities').select('capabilities.document').orderBy('at', 'desc').limit(1);
  return {
    async find(stageId: StageId): Promise<Capabilities | null> {
      return mapRow(await newest().where('stage_id', '=', stageId).executeTakeFirst(), toCapabilities);
    },
    async newestOf(projectId: ProjectId): Promise<Capabilities | null> {
      const rows = newest().innerJoin('stages', 'stages.id', 'capabilities.stage_id');
      return mapRow(await rows.where('project_id', '=', projectId).executeTakeFirst(), toCapabilities);
    },
    async newest(): Promise<Capabilities | null> {
      return mapRow(await newest().executeTakeFirst(), toCapabilities);
    },
    async save(stageId: StageId, at: string, capabilities: Capabilities): Promise<void> {
      const document = JSON.stringify(capabilities);
      await db
        .insertInto('capabilities')
        .values({ stage_id: stageId, at, document })
        .onConflict((conflict) => conflict.column('stage_id').doUpdateSet({ at, document }))
        .execute();
    },
  };
}

/** See `MergeIntentsTable`. */
export function mergeIntentsTable(db: Database): MergeIntentsTable {
  return {
    async list(): Promise<MergeIntent[]> {
      const rows = await db.selectFrom('merge_intents').select('document').orderBy('stage_id').execute();
      return rows.map(documentOf(MergeIntent));
    },
    async save(intent: MergeIntent): Promise<void> {
      const document = JSON.stringify(intent);
      await db
        .insertInto('merge_intents')
        .values({ stage_id: intent.stageId, document })
        .onConflict((conflict) => conflict.column('stage_id').doUpdateSet({ document }))
        .execute();
    },
    async remove(stageId: StageId): Promise<void> {
      await db.deleteFrom('merge_intents').where('stage_id', '=', stageId).execute();
    },
  };
}

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

const toRule = documentOf(PermissionRule);

const appliesAt =
  (at: string) =>
  ({ endedAt, expiresAt }: PermissionRule): boolean =>
    endedAt === null && (expiresAt === null || expiresAt > at);

/** See `RulesTable`. */
export function rulesTable(db: Database): RulesTable {
  const select = () => db.selectFrom('rules').select('document').orderBy('id');
  const ever = async (projectId: ProjectId, stageId: StageId): Promise<PermissionRule[]> => {
    const rows = select().where('project_id', '=', projectId);
    const found = await rows.where((eb) => eb.or([eb('stage_id', 'is', null), eb('stage_id', '=', stageId)])).execute();
    return found.map(toRule);
  };
  return {
    async find(id: string): Promise<PermissionRule | null> {
      const row = await select().where('id', '=', id).executeTakeFirst();
      return mapRow(row, toRule);
    },
    async listOf(projectId, at): Promise<PermissionRule[]> {
      const rows = await select().where('project_id', '=', projectId).execute();
      return rows.map(toRule).filter(appliesAt(at));
    },
    listFor: async (projectId, stageId, at) => (await ever(projectId, stageId)).filter(appliesAt(at)),
    listEver: ever,
    async listAll(projectId): Promise<PermissionRule[]> {
      const rows = projectId === undefined ? select() : select().where('project_id', '=', projectId);
      return (await rows.execute()).map(toRule);
    },
    withUse: (rules) => withUse(db, rules),
    async listEnding(): Promise<PermissionRule[]> {
      const field = (path: string) => dialectOf(db).text(sql.ref('document'), path);
      const ending = select().where(field('expiresAt'), 'is not', null).where(field('endedAt'), 'is', null);
      return (await ending.execute()).map(toRule);
    },
    async save(rule: PermissionRule): Promise<void> {
      const { ruleId: id, projectId, stageId } = rule;
      const document = JSON.stringify(rule);
      await db
        .insertInto('rules')
        .values({ id, project_id: projectId, stage_id: stageId, document })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ document }))
        .execute();
    },
    addUse: (use) => addUse(db, use),
    async dismissals(projectId, rules): Promise<ReadonlyMap<string, number>> {
      const found = db.selectFrom('rule_dismissals').select(['rule', 'times']).where('project_id', '=', projectId);
      const rows = await found.where('rule', 'in', [...rules]).execute();
      return new Map(rows.map(({ rule, times }) => [rule, times]));
    },
    async saveDismissal(projectId, rule, times): Promise<void> {
      await db
        .insertInto('rule_dismissals')
        .values({ project_id: projectId, rule, times })
        .onConflict((conflict) => conflict.columns(['project_id', 'rule']).doUpdateSet({ times }))
        .execute();
    },
    async addRetry({ stageId, requestId, actor }): Promise<void> {
      await db
        .insertInto('denial_retries')
        .values({ stage_id: stageId, request_id: requestId, actor })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },
    async listRetries(): Promise<DenialRetryIntent[]> {
      const rows = await db.selectFrom('denial_retries').selectAll().execute();
      return rows.map(({ stage_id, request_id, actor }) => {
        return { stageId: StageId.parse(stage_id), requestId: RequestId.parse(request_id), actor };
      });
    },
    async removeRetry(stageId, requestId): Promise<DenialRetryIntent | null> {
      const of = db.deleteFrom('denial_retries').where('stage_id', '=', stageId).where('request_id', '=', requestId);
      const removed = await of.returning('actor').executeTakeFirst();
      return removed === undefined ? null : { stageId, requestId, actor: removed.actor };
    },
  };
}

/** How many of the calls that a rule let through most often are listed. */
const USED_FOR = 5;
/** How many of its newest uses are listed. */
const LAST_USES = 5;

/** See `RulesTable.addUse`. */
async function addUse(db: Database, { ruleId, stageId, toolUseId, entry, asked, at }: RuleUse): Promise<void> {
  const added = await db
    .insertInto('rule_uses')
    .values({ rule_id: ruleId, stage_id: stageId, tool_use_id: toolUseId, entry, asked, at })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (added.numInsertedOrUpdatedRows !== 1n) return;
  await db
    .insertInto('rule_use_counts')
    .values({ rule_id: ruleId, asked, times: 1, last_at: at })
    .onConflict((conflict) =>
      conflict.columns(['rule_id', 'asked']).doUpdateSet({
        times: sql`rule_use_counts.times + 1`,
        last_at: dialectOf(db).greatest(sql.ref('rule_use_counts.last_at'), sql.ref('excluded.last_at')),
      }),
    )
    .execute();
}

/** See `RulesTable.withUse`. */
async function withUse(db: Database, rules: readonly PermissionRule[]): Promise<UsedRule[]> {
  const ids = rules.map(({ ruleId }) => ruleId);
  const counts = await db
    .selectFrom('rule_use_counts')
    .selectAll()
    .where('rule_id', 'in', ids)
    .orderBy('times', 'desc')
    .orderBy('asked')
    .execute();
  const byRule = Map.groupBy(counts, ({ rule_id }) => rule_id);
  const lastUses = await newestUses(db, ids);
  return rules.map((rule) => {
    const of = byRule.get(rule.ruleId) ?? [];
    return UsedRule.parse({
      ...rule,
      uses: rule.kind === 'allow' ? of.reduce((sum, { times }) => sum + times, 0) : null,
      lastUsedAt:
        of
          .map(({ last_at }) => last_at)
          .toSorted()
          .at(-1) ?? null,
      usedFor: of.slice(0, USED_FOR).map(({ asked, times }) => ({ asked, count: times })),
      lastUses: lastUses.get(rule.ruleId) ?? [],
    });
  });
}

/** The newest uses of each of these rules, the last one first. */
async function newestUses(db: Database, ids: readonly string[]): Promise<ReadonlyMap<string, UsedRule['lastUses']>> {
  const rows = await db
    .selectFrom('rules')
    .innerJoin('rule_uses', (join) =>
      join.on(({ eb, selectFrom }) =>
        eb(
          'rule_uses.ordinal',
          'in',
          selectFrom('rule_uses as newest')
            .select('newest.ordinal')
            .whereRef('newest.rule_id', '=', 'rules.id')
            .orderBy('newest.ordinal', 'desc')
            .limit(LAST_USES),
        ),
      ),
    )
    .select(['rules.id', 'rule_uses.stage_id', 'rule_uses.entry', 'rule_uses.asked', 'rule_uses.at'])
    .where('rules.id', 'in', [...ids])
    .orderBy('rule_uses.ordinal', 'desc')
    .execute();
  const uses = rows.map(({ id, stage_id, entry, asked, at }) => {
    return { ruleId: id, use: { stageId: StageId.parse(stage_id), entry, asked, at } };
  });
  const byRule = Map.groupBy(uses, ({ ruleId }) => ruleId);
  return new Map([...byRule].map(([ruleId, of]) => [ruleId, of.map(({ use }) => use)]));
}

const Identity = z.object({ pid: z.int(), startTime: z.string(), bootId: z.string() });
const toCommand = documentOf(WorktreeCommand);

/** See `WorktreeCommandsTable`. */
export function worktreeCommandsTable(db: Database): WorktreeCommandsTable {
  const select = () => db.selectFrom('worktree_commands').selectAll().orderBy('ordinal');
  return {
    async listOf(stageId: StageId): Promise<WorktreeCommand[]> {
      return (await select().where('stage_id', '=', stageId).execute()).map(toCommand);
    },
    async listRunning(): Promise<StoredCommand[]> {
      const rows = await select().where('state', '=', 'running').execute();
      return rows.map((row) => ({
        command: toCommand(row),
        process: row.process === null ? null : Identity.parse(JSON.parse(row.process)),
      }));
    },
    async find(id: string): Promise<WorktreeCommand | null> {
      return mapRow(await select().where('id', '=', id).executeTakeFirst(), toCommand);
    },
    async insert(command: WorktreeCommand): Promise<void> {
      const { id, stageId, state } = command;
      await db
        .insertInto('worktree_commands')
        .values({ id, stage_id: stageId, state, process: null, document: JSON.stringify(command) })
        .execute();
    },
    async setProcess(id: string, process: ProcessIdentity): Promise<void> {
      await db
        .updateTable('worktree_commands')
        .set({ process: JSON.stringify(process) })
        .where('id', '=', id)
        .execute();
    },
    async update(command: WorktreeCommand): Promise<void> {
      await db
        .updateTable('worktree_commands')
        .set({ state: command.state, document: JSON.stringify(command) })
        .where('id', '=', command.id)
        .execute();
    },
    async remove(id: string): Promise<void> {
      await db.deleteFrom('worktree_commands').where('id', '=', id).execute();
    },
  };
}

/** See `PortRangesTable`. */
export function portRangesTable(db: Database): PortRangesTable {
  return {
    async list(): Promise<PortRange[]> {
      const rows = await db.selectFrom('port_ranges').selectAll().orderBy('place').execute();
      return rows.map(({ stage_id, place, base }) => ({ stageId: StageId.parse(stage_id), place, base }));
    },
    async save({ stageId, place, base }: PortRange): Promise<void> {
      await db
        .insertInto('port_ranges')
        .values({ stage_id: stageId, place, base })
        .onConflict((conflict) => conflict.column('stage_id').doUpdateSet({ place, base }))
        .execute();
    },
    async remove(stageId: StageId): Promise<void> {
      await db.deleteFrom('port_ranges').where('stage_id', '=', stageId).execute();
    },
  };
}
