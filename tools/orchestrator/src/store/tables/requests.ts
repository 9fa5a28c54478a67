import {
  Decision,
  type DecisionFilter,
  isUnsettled,
  LaunchId,
  PendingRequest,
  ProjectId,
  type RequestId,
  type Stage,
  type StageId,
} from '@callboard/contract';
import { type Selectable, sql } from 'kysely';
import type { Database } from '../database.ts';
import { builder, param, prepare } from '../prepared.ts';
import type { Schema } from '../schema.ts';
import { rowsThatFit } from './page.ts';

/** A request that waits, or waited, for a person; `decision` is null as long as it waits. */
export interface StoredRequest {
  request: PendingRequest;
  launchId: LaunchId;
  decision: Decision | null;
}

const toDecision = (text: string): Decision => Decision.parse(JSON.parse(text));

const toStored = (row: Selectable<Schema['requests']>): StoredRequest => ({
  request: PendingRequest.parse(JSON.parse(row.document)),
  launchId: LaunchId.parse(row.launch_id),
  decision: row.decision === null ? null : toDecision(row.decision),
});

/** A decision of the log, with what its stage was called. */
function toLogged(row: LoggedRow): Decision[] {
  if (row.decision === null) return [];
  const { stage_title, project_id, title, project } = row;
  const isStageDeleted = stage_title !== null;
  const projectId = ProjectId.safeParse(project_id ?? project).data ?? null;
  return [{ ...toDecision(row.decision), stageTitle: stage_title ?? title, projectId, isStageDeleted }];
}

interface LoggedRow {
  decision: string | null;
  stage_title: string | null;
  project_id: string | null;
  title: string | null;
  project: string | null;
}

const byId = prepare(
  builder
    .selectFrom('requests')
    .selectAll()
    .where('stage_id', '=', param('stageId'))
    .where('request_id', '=', param('requestId')),
);
const openNew = prepare(
  builder
    .insertInto('requests')
    .values({
      stage_id: param('stageId'),
      request_id: param('requestId'),
      launch_id: param('launchId'),
      state: 'open',
      stage_title: null,
      project_id: null,
      kind: param('kind'),
      tool_name: param('toolName'),
      document: param('document'),
      created_at: param('createdAt'),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('ordinal'),
);
const decide = prepare(
  builder
    .updateTable('requests')
    .set({
      state: param('state'),
      decision: param('decision'),
      outcome: param('outcome'),
      decided_by: param<string | null>('by'),
      decided_at: param('at'),
    })
    .where('stage_id', '=', param('stageId'))
    .where('request_id', '=', param('requestId')),
);
const bytesOpen = prepare(
  builder
    .selectFrom('requests')
    .where('state', '=', 'open')
    .select(sql<number>`coalesce(sum(octet_length(document)), 0)`.as('bytes')),
);
const countOpenOf = prepare(
  builder
    .selectFrom('requests')
    .where('state', '=', 'open')
    .where('stage_id', '=', param('stageId'))
    .select((eb) => eb.fn.countAll<number>().as('count')),
);

/** Pending requests and their decisions. */
export function requestsTable(db: Database) {
  const select = () => db.selectFrom('requests').selectAll();
  const open = () => select().where('state', '=', 'open').orderBy('ordinal');
  // A request may be megabytes long: whoever wants its decision does not read it.
  const decisions = () => db.selectFrom('requests').select(['decision', 'decided_at']);
  const unsettled = () => decisions().where('state', '=', 'unsettled').orderBy('decided_at').orderBy('ordinal');
  return {
    async listOpen(): Promise<PendingRequest[]> {
      return (await open().execute()).map((row) => toStored(row).request);
    },
    async listOpenOf(stageId: StageId): Promise<PendingRequest[]> {
      return (await open().where('stage_id', '=', stageId).execute()).map((row) => toStored(row).request);
    },
    async countOpenOf(stageId: StageId): Promise<number> {
      return (await countOpenOf(db, { stageId }))[0]?.count ?? 0;
    },
    /** How much all open requests are, as stored. */
    async bytesOpen(): Promise<number> {
      return (await bytesOpen(db, {}))[0]?.bytes ?? 0;
    },
    /** Answers whose fate is unknown and that nobody has settled, the oldest first. */
    async listUnsettled(): Promise<Decision[]> {
      return (await unsettled().execute()).flatMap(decisionOf);
    },
    async listUnsettledOf(stageId: StageId): Promise<Decision[]> {
      return (await unsettled().where('stage_id', '=', stageId).execute()).flatMap(decisionOf);
    },
    async find(stageId: StageId, requestId: RequestId): Promise<StoredRequest | null> {
      const [row] = await byId(db, { stageId, requestId });
      return row === undefined ? null : toStored(row);
    },
    /** What was decided; null for a request that is open, or that there never was. */
    async findDecision(stageId: StageId, requestId: RequestId): Promise<Decision | null> {
      const query = decisions().where('stage_id', '=', stageId).where('request_id', '=', requestId);
      return (await query.execute()).flatMap(decisionOf)[0] ?? null;
    },
    /** False when the stage has a request of that id already; then nothing changes. */
    async open(request: PendingRequest, launchId: LaunchId): Promise<boolean> {
      const { stageId, requestId, kind, toolName, createdAt } = request;
      const document = JSON.stringify(request);
      return (await openNew(db, { stageId, requestId, launchId, kind, toolName, document, createdAt })).length === 1;
    },
    /** Records a decision that no request came before. False when the stage has one of that id already; then nothing changes. */
    async addDecided(request: PendingRequest, decision: Decision, launchId: LaunchId): Promise<boolean> {
      const { stageId, requestId, kind, toolName, outcome, by, at } = decision;
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('requests')
        .values({
          ...{ stage_id: stageId, request_id: requestId, launch_id: launchId, kind, tool_name: toolName },
          ...{ state: stateOf(decision), stage_title: null, project_id: null, created_at: at },
          ...{ document: JSON.stringify(request), decision: JSON.stringify(decision) },
          ...{ outcome, decided_by: by, decided_at: at },
        })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      return numInsertedOrUpdatedRows === 1n;
    },
    /** The outcomes of all that was asked, or denied without being asked, about one call. */
    async outcomesOf(stageId: StageId, toolUseId: string): Promise<(string | null)[]> {
      const id = sql<string | null>`json_extract(document, '$.toolUseId')`;
      const rows = db.selectFrom('requests').select('outcome').where('stage_id', '=', stageId);
      return (await rows.where(id, '=', toolUseId).execute()).map(({ outcome }) => outcome);
    },
    async decide(decision: Decision): Promise<void> {
      const { stageId, requestId, outcome, by, at } = decision;
      const document = JSON.stringify(decision);
      await decide(db, { stageId, requestId, state: stateOf(decision), decision: document, outcome, by, at });
    },
    /** The stage is about to go: its decisions stay in the log, and nobody is asked to settle one any more. */
    async keepOf({ id, title, projectId }: Stage): Promise<void> {
      const settled = sql<string>`case state when 'unsettled' then 'decided' else state end`;
      await db
        .updateTable('requests')
        .set({ stage_title: title, project_id: projectId, state: settled })
        .where('stage_id', '=', id)
        .where('stage_title', 'is', null) // those of an earlier stage of that id have theirs
        .execute();
      await db.deleteFrom('requests').where('stage_id', '=', id).where('decision', 'is', null).execute();
    },
    /**
     * The decision log, newest first: `limit` at most, and no more than a page holds. `next` is where the following page
     * begins (its decisions were made before that instant); decisions of one instant are never torn apart, so a page can
     * be a little longer than that.
     */
    async decisions({ limit, ...filter }: DecisionQuery): Promise<{ decisions: Decision[]; next: string | null }> {
      const query = decided(filter);
      const sizes = await query
        .clearSelect()
        .select(['decided_at', sql<number>`octet_length(decision)`.as('bytes')])
        .limit(limit + 1)
        .execute();
      const fitting = rowsThatFit(sizes.slice(0, limit));
      const boundary = sizes[fitting]?.decided_at;
      if (boundary == null) return { decisions: (await query.execute()).flatMap(toLogged), next: null };
      const isTorn = sizes[0]?.decided_at === boundary; // the first instant alone is more than a page
      const page = await query.where('decided_at', isTorn ? '=' : '>', boundary).execute();
      const older = decided({ ...filter, before: boundary })
        .clearSelect()
        .select('decided_at')
        .limit(1);
      const isLast = isTorn && (await older.execute()).length === 0;
      return { decisions: page.flatMap(toLogged), next: isLast ? null : (page.at(-1)?.decided_at ?? null) };
    },
  };

  function decided(filter: Omit<DecisionQuery, 'limit'>) {
    let query = db
      .selectFrom('requests')
      .leftJoin('stages', 'stages.id', 'requests.stage_id')
      .select(['decision', 'decided_at', 'stage_title', 'requests.project_id', 'stages.project_id as project'])
      .select(sql<string | null>`json_extract(stages.document, '$.title')`.as('title'))
      .where('decision', 'is not', null)
      .orderBy('decided_at', 'desc')
      .orderBy('request_id');
    const { projectId } = filter;
    if (projectId !== undefined)
      query = query.where((eb) => eb(eb.fn.coalesce('requests.project_id', 'stages.project_id'), '=', projectId));
    if (filter.stageId !== undefined) query = query.where('stage_id', '=', filter.stageId);
    if (filter.outcome !== undefined) query = query.where('outcome', '=', filter.outcome);
    if (filter.kind !== undefined) query = query.where('kind', '=', filter.kind);
    if (filter.by !== undefined) query = query.where('decided_by', '=', filter.by);
    const source = sql<string | null>`json_extract(decision, '$.denial.source')`;
    if (filter.source === 'person') query = query.where(source, 'is', null);
    else if (filter.source !== undefined) query = query.where(source, '=', filter.source);
    if (filter.toolName !== undefined) query = query.where('tool_name', '=', filter.toolName);
    if (filter.since !== undefined) query = query.where('decided_at', '>=', filter.since);
    if (filter.before !== undefined) query = query.where('decided_at', '<', filter.before);
    return query;
  }
}

function stateOf(decision: Decision): string {
  if (isUnsettled(decision)) return 'unsettled';
  return decision.outcome === 'closed' ? 'closed' : 'decided';
}

export type DecisionQuery = Omit<DecisionFilter, 'limit'> & { limit: number };

const decisionOf = ({ decision }: { decision: string | null }): Decision[] =>
  decision === null ? [] : [toDecision(decision)];
