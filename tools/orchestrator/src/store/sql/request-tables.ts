import {
  AlertSettings,
  CLAUDE_CODE,
  DEFAULT_ALERTS,
  Decision,
  DelayedAnswer,
  isUnsettled,
  Later,
  LaunchId,
  type Me,
  PendingRequest,
  Presentation,
  ProjectId,
  RequestId,
  type Stage,
  StageId,
  withAnswerDelayed,
} from '@callboard/contract';
import { type Selectable, sql } from 'kysely';
import { z } from 'zod';
import {
  type AnsweredCall,
  type AnsweredCallsQuery,
  type DecisionQuery,
  DelayedAnswerRow,
  type PeopleTable,
  type RequestAddress,
  type RequestsTable,
  type StoredRequest,
} from '../ports/session-port.ts';
import type { RowCaches } from './cached-rows.ts';
import { builder, dialectOf, param, prepare, prepareWrite } from './prepared.ts';
import { documentOf, mapRow, rowsThatFit } from './rows.ts';
import type { Database, Schema } from './schema.ts';

/** See `PeopleTable`. */
export function peopleTable(db: Database): PeopleTable {
  const open = () =>
    db
      .selectFrom('later')
      .innerJoin('requests', (join) =>
        join
          .onRef('requests.stage_id', '=', 'later.stage_id')
          .onRef('requests.request_id', '=', 'later.request_id')
          .on('requests.state', '=', 'open'),
      )
      .select(['later.person', 'later.stage_id', 'later.request_id', 'later.until']);
  return {
    async find(name: string): Promise<Me> {
      const row = db.selectFrom('people').select(['presentation', 'alerts']).where('name', '=', name);
      const saved = await row.executeTakeFirst();
      const rows = await open().where('person', '=', name).orderBy('requests.ordinal').execute();
      const presentation = Presentation.parse(saved?.presentation ?? 'overlay');
      return { name, presentation, later: rows.map(toLater), alerts: alertsOf(saved?.alerts ?? null) };
    },
    async saveSettings(name: string, settings: { presentation: Presentation; alerts: AlertSettings }): Promise<void> {
      const fields = { presentation: settings.presentation, alerts: JSON.stringify(settings.alerts) };
      await db
        .insertInto('people')
        .values({ name, ...fields })
        .onConflict((conflict) => conflict.column('name').doUpdateSet(fields))
        .execute();
    },
    async listReturning() {
      const rows = await open().where('until', 'is not', null).orderBy('until').execute();
      return rows.flatMap((row) =>
        row.until === null ? [] : [{ ...toLater(row), person: row.person, until: row.until }],
      );
    },
    async saveLater(person: string, { stageId, requestId, until }: Later): Promise<void> {
      await db
        .deleteFrom('later')
        .where(({ exists, selectFrom }) =>
          exists(
            selectFrom('requests')
              .select('requests.request_id')
              .where('state', '!=', 'open')
              .whereRef('requests.stage_id', '=', 'later.stage_id')
              .whereRef('requests.request_id', '=', 'later.request_id'),
          ),
        )
        .execute();
      await db
        .insertInto('later')
        .values({ person, stage_id: stageId, request_id: requestId, until })
        .onConflict((conflict) => conflict.columns(['person', 'stage_id', 'request_id']).doUpdateSet({ until }))
        .execute();
    },
    async removeLater(person: string, stageId: StageId, requestId: RequestId): Promise<boolean> {
      const { numDeletedRows } = await db
        .deleteFrom('later')
        .where('person', '=', person)
        .where('stage_id', '=', stageId)
        .where('request_id', '=', requestId)
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },
  };
}

const toLater = (row: { stage_id: string; request_id: string; until: string | null }): Later =>
  Later.parse({ stageId: row.stage_id, requestId: row.request_id, until: row.until });

const alertsOf = (document: string | null): AlertSettings =>
  document === null ? DEFAULT_ALERTS : AlertSettings.parse(JSON.parse(document));

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
const decide = prepareWrite(
  builder
    .updateTable('requests')
    .set({
      state: param('state'),
      decision: param('decision'),
      outcome: param('outcome'),
      decided_by: param<string | null>('by'),
      decided_at: param('at'),
      held: null,
    })
    .where('stage_id', '=', param('stageId'))
    .where('request_id', '=', param('requestId')),
);
const openOf = prepare(
  builder
    .selectFrom('requests')
    .selectAll()
    .where('state', '=', 'open')
    .where('stage_id', '=', param('stageId'))
    .orderBy('ordinal'),
);
// A request may be megabytes long: reading its decision must not read it.
const selectDecision = builder.selectFrom('requests').select(['decision', 'decided_at']);
const decisionOfRequest = prepare(
  selectDecision.where('stage_id', '=', param('stageId')).where('request_id', '=', param('requestId')),
);
const selectUnsettled = selectDecision.where('state', '=', 'unsettled').orderBy('decided_at').orderBy('ordinal');
const unsettled = prepare(selectUnsettled);
const unsettledOf = prepare(selectUnsettled.where('stage_id', '=', param('stageId')));
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
export function requestsTable(db: Database, caches: RowCaches['openRequests']): RequestsTable {
  const count = createOpenCount(caches);
  const select = () => db.selectFrom('requests').selectAll();
  const open = () => select().where('state', '=', 'open').orderBy('ordinal');
  return {
    listOpen: async () => (await open().execute()).map((row) => toStored(row).request),
    async listOpenOf(stageId: StageId): Promise<PendingRequest[]> {
      if (caches.find(stageId) === 0) return [];
      return (await openOf(db, { stageId })).map((row) => toStored(row).request);
    },
    async countOpenOf(stageId: StageId): Promise<number> {
      const open = caches.find(stageId) ?? (await countOpenOf(db, { stageId }))[0]?.count ?? 0;
      caches.save(stageId, open);
      return open;
    },
    async bytesOpen(): Promise<number> {
      return (await bytesOpen(db, {}))[0]?.bytes ?? 0;
    },
    listUnsettled: async () => (await unsettled(db, {})).flatMap(decisionOf),
    listUnsettledOf: async (stageId) => (await unsettledOf(db, { stageId })).flatMap(decisionOf),
    async find(stageId: StageId, requestId: RequestId): Promise<StoredRequest | null> {
      const [row] = await byId(db, { stageId, requestId });
      if (row !== undefined) count.saw({ stageId, requestId, isOpen: row.state === 'open' });
      return mapRow(row, toStored);
    },
    async findAll(requestId: RequestId): Promise<StoredRequest[]> {
      return (await select().where('request_id', '=', requestId).orderBy('ordinal').execute()).map(toStored);
    },
    async findDecision(stageId: StageId, requestId: RequestId): Promise<Decision | null> {
      return (await decisionOfRequest(db, { stageId, requestId })).flatMap(decisionOf)[0] ?? null;
    },
    async open(request: PendingRequest, launchId: LaunchId): Promise<boolean> {
      const { stageId, requestId, kind, toolName, createdAt } = request;
      const document = JSON.stringify(request);
      const added = await openNew(db, { stageId, requestId, launchId, kind, toolName, document, createdAt });
      count.opened(stageId, added.length);
      return added.length === 1;
    },
    async addDecided(request: PendingRequest, decision: Decision, launchId: LaunchId): Promise<boolean> {
      const { stageId, requestId, kind, toolName, outcome, by, at } = decision;
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('requests')
        .values({
          stage_id: stageId,
          request_id: requestId,
          launch_id: launchId,
          kind,
          tool_name: toolName,
          state: stateOf(decision),
          stage_title: null,
          project_id: null,
          created_at: at,
          document: JSON.stringify(request),
          decision: JSON.stringify(decision),
          outcome,
          decided_by: by,
          decided_at: at,
        })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      return numInsertedOrUpdatedRows === 1n;
    },
    async outcomesOf(stageId: StageId, toolUseId: string): Promise<(string | null)[]> {
      const id = dialectOf(db).text(sql.ref('document'), 'toolUseId');
      const rows = db.selectFrom('requests').select('outcome').where('stage_id', '=', stageId);
      return (await rows.where(id, '=', toolUseId).execute()).map(({ outcome }) => outcome);
    },
    hold: (place, pause) => setPause(db, place, pause),
    async decide(decision: Decision): Promise<void> {
      const { stageId, requestId, outcome, by, at } = decision;
      count.decided(decision);
      const document = JSON.stringify(decision);
      await decide(db, { stageId, requestId, state: stateOf(decision), decision: document, outcome, by, at });
    },
    retainOf: (stage) => {
      caches.forget(stage.id);
      return retainOf(db, stage);
    },
    decisions: (query) => decisionPage(db, query),
    ...answeredCallsOf(db),
  };
}

async function setPause(db: Database, place: RequestAddress, pause: DelayedAnswerRow | null): Promise<void> {
  await db
    .updateTable('requests')
    .set({ held: pause === null ? null : JSON.stringify(pause) })
    .where('stage_id', '=', place.stageId)
    .where('request_id', '=', place.requestId)
    .where('state', '=', 'open')
    .execute();
}

async function retainOf(db: Database, { id, title, projectId }: Stage): Promise<void> {
  const settled = sql<string>`case state when 'unsettled' then 'decided' else state end`;
  await db
    .updateTable('requests')
    .set({ stage_title: title, project_id: projectId, state: settled })
    .where('stage_id', '=', id)
    .where('stage_title', 'is', null) // decisions of an earlier stage with that id already have a title
    .execute();
  await db.deleteFrom('requests').where('stage_id', '=', id).where('decision', 'is', null).execute();
}

function stateOf(decision: Decision): string {
  if (isUnsettled(decision)) return 'unsettled';
  return decision.outcome === 'closed' ? 'closed' : 'decided';
}

const decisionOf = ({ decision }: { decision: string | null }): Decision[] =>
  decision === null ? [] : [toDecision(decision)];

/** A longer request is counted, and not compared with a rule. */
const COMPARED_BYTES = 20_000;

const FILE_TOOLS = ['Read', 'Edit', 'Write', 'MultiEdit', 'NotebookEdit'];

const Row = z.object({
  ordinal: z.int(),
  stage_id: StageId,
  request_id: RequestId,
  title: z.string().nullable(),
  tool_name: z.string(),
  command: z.string().nullable(),
  url: z.string().nullable(),
  filePath: z.string().nullable(),
  notebookPath: z.string().nullable(),
  folder: z.string().nullable(),
  outcome: z.enum(['allowed', 'denied', 'timed-out']),
  decided_by: z.string().nullable(),
  decided_at: z.string(),
  asked: z.string().nullable(),
  waited: z.int().nullable(),
  reason: z.string().nullable(),
  isRulable: z.int().nullable(),
  isBarred: z.int().nullable(),
});

type AnsweredCalls = Pick<RequestsTable, 'newestOrdinal' | 'answeredCalls' | 'countAnswered'>;

/** What rules are compared with. See `RequestsTable`. */
const answeredCallsOf = (db: Database): AnsweredCalls => ({
  async newestOrdinal(): Promise<number> {
    const newest = db.selectFrom('requests').select((eb) => eb.fn.max('ordinal').as('newest'));
    return (await newest.executeTakeFirst())?.newest ?? 0;
  },
  answeredCalls: (query) => answeredCalls(db, query),
  countAnswered: (query) => countAnswered(db, query),
});

async function answeredCalls(db: Database, query: AnsweredCallsQuery): Promise<AnsweredCall[]> {
  const isShort = sql`octet_length(requests.document) <= ${COMPARED_BYTES}`;
  const { text, number, boolean, length, position, flag } = dialectOf(db);
  const document = sql.ref<string | null>('requests.document');
  const decision = sql.ref<string | null>('requests.decision');
  const field = (path: string) => sql<string | null>`case when ${isShort} then ${text(document, path)} end`;
  // Claude Code names the path of a command that writes, also inside the worktree, where a rule helps.
  const worktree = text(sql.ref('stages.document'), 'worktree.path');
  const blocked = text(document, 'blockedPath');
  const isInside = sql`${position(sql`${blocked} || '/'`, sql`${worktree} || '/'`)} = 1`;
  // A rule about files also lets through what is outside.
  const isFileTool = sql`requests.tool_name in (${sql.join(FILE_TOOLS)})`;
  let rows = answered(db, query)
    .leftJoin('stages', 'stages.id', 'requests.stage_id')
    .select(
      ['ordinal', 'stage_id', 'request_id', 'tool_name', 'outcome', 'decided_by', 'decided_at'].map((name) =>
        sql`requests.${sql.ref(name)}`.as(name),
      ),
    )
    .select([
      sql<string | null>`coalesce(requests.stage_title, ${text(sql.ref('stages.document'), 'title')})`.as('title'),
      field('input.command').as('command'),
      field('input.url').as('url'),
      field('input.file_path').as('filePath'),
      field('input.notebook_path').as('notebookPath'),
      worktree.as('folder'),
      text(decision, 'asked').as('asked'),
      number(decision, 'waitedMs').as('waited'),
      text(decision, 'reason').as('reason'),
      flag(
        sql`${isShort} and ${text(decision, 'updatedInput')} is null and ${text(decision, 'delivery')} <> 'not-applied'
          and (${blocked} is null or ${isInside} or ${isFileTool}) and ${length(document, 'suggestions')} > 0`,
      ).as('isRulable'),
      flag(
        sql`case when ${isShort} then ${boolean(document, 'suppressAlwaysAllow')} or ${text(document, 'leavesSandbox')} is not null
          else false end`,
      ).as('isBarred'),
    ])
    .where('requests.tool_name', '=', query.toolName)
    .orderBy('requests.ordinal', 'desc');
  if (query.text !== undefined)
    rows = rows.where(sql<boolean>`${isShort} and ${position(document, sql.val(query.text))} > 0`);
  return (await rows.execute()).map((row) => toCall(Row.parse(row)));
}

/** Counts by ordinals, so it never reads more than the range. */
async function countAnswered(
  db: Database,
  query: Omit<AnsweredCallsQuery, 'toolName' | 'text'>,
): ReturnType<RequestsTable['countAnswered']> {
  const row = await answered(db, query)
    .select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.min('requests.decided_at').as('oldest')])
    .executeTakeFirst();
  return { count: row?.count ?? 0, oldest: row?.oldest ?? null };
}

/** The calls that a person was asked about and that were not closed unanswered. */
function answered(db: Database, { projectId, stageId, from, to }: Omit<AnsweredCallsQuery, 'toolName' | 'text'>) {
  const rows = db
    .selectFrom('requests')
    .where('requests.ordinal', '>=', from)
    .where('requests.ordinal', '<=', to)
    .where('requests.kind', '=', 'approval')
    .where('requests.outcome', 'in', ['allowed', 'denied', 'timed-out'])
    .where((eb) => eb.or([eb('requests.decided_by', 'is', null), eb('requests.decided_by', '<>', CLAUDE_CODE)]));
  if (stageId !== undefined) return rows.where('requests.stage_id', '=', stageId);
  return rows.where((eb) =>
    eb.or([
      eb('requests.project_id', '=', projectId),
      eb.and([
        eb('requests.project_id', 'is', null),
        eb(
          'requests.stage_id',
          'in',
          eb.selectFrom('stages').select('stages.id').where('stages.project_id', '=', projectId),
        ),
      ]),
    ]),
  );
}

function toCall(row: z.infer<typeof Row>): AnsweredCall {
  const input = { command: row.command, url: row.url, file_path: row.filePath, notebook_path: row.notebookPath };
  return {
    ordinal: row.ordinal,
    stageId: row.stage_id,
    requestId: row.request_id,
    stageTitle: row.title,
    toolName: row.tool_name,
    input: Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null)),
    folder: row.folder,
    outcome: row.outcome,
    by: row.decided_by,
    at: row.decided_at,
    reason: row.reason,
    asked: row.asked ?? row.tool_name,
    waitedMs: row.waited ?? 0,
    isRulable: row.isRulable === 1,
    isBarred: row.isBarred === 1,
  };
}

/** A decision of the log, with the title of its stage. */
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

/** See `RequestsTable.decisions`. */
async function decisionPage(db: Database, { limit, ...filter }: DecisionQuery): ReturnType<RequestsTable['decisions']> {
  const query = decided(db, filter);
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
  const older = decided(db, { ...filter, before: boundary })
    .clearSelect()
    .select('decided_at')
    .limit(1);
  const isLast = isTorn && (await older.execute()).length === 0;
  return { decisions: page.flatMap(toLogged), next: isLast ? null : (page.at(-1)?.decided_at ?? null) };
}

/** The decisions that match, newest first. */
function decided(db: Database, filter: Omit<DecisionQuery, 'limit'>) {
  const { text } = dialectOf(db);
  let query = db
    .selectFrom('requests')
    .leftJoin('stages', 'stages.id', 'requests.stage_id')
    .select(['decision', 'decided_at', 'stage_title', 'requests.project_id', 'stages.project_id as project'])
    .select(text(sql.ref('stages.document'), 'title').as('title'))
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
  if (filter.device !== undefined) query = query.where(text(sql.ref('decision'), 'device'), '=', filter.device);
  const source = text(sql.ref('decision'), 'denial.source');
  if (filter.source === 'person') query = query.where(source, 'is', null);
  else if (filter.source !== undefined) query = query.where(source, '=', filter.source);
  if (filter.toolName !== undefined) query = query.where('tool_name', '=', filter.toolName);
  if (filter.since !== undefined) query = query.where('decided_at', '>=', filter.since);
  if (filter.before !== undefined) query = query.where('decided_at', '<', filter.before);
  return query;
}

const toDecision = (text: string): Decision => Decision.parse(JSON.parse(text));

function toStored(row: Selectable<Schema['requests']>): StoredRequest {
  const request = documentOf(PendingRequest)(row);
  const hold = row.held === null ? null : DelayedAnswerRow.parse(JSON.parse(row.held));
  return {
    request: hold === null ? request : withAnswerDelayed(request, DelayedAnswer.parse(hold)),
    launchId: LaunchId.parse(row.launch_id),
    decision: row.decision === null ? null : toDecision(row.decision),
    hold,
  };
}

interface Seen {
  stageId: StageId;
  requestId: RequestId;
  isOpen: boolean;
}

/** Keeps the numbers of open requests true while requests are asked and decided, so that they need not be counted again. */
function createOpenCount(caches: RowCaches['openRequests']) {
  let seen: Seen | null = null; // the last one that was read: it is what is decided next

  return {
    saw(request: Seen): void {
      seen = request;
    },
    opened(stageId: StageId, added: number): void {
      const before = caches.find(stageId);
      if (before !== undefined) caches.save(stageId, before + added);
    },
    /** Call before the decision is stored. One that was decided before was not open. */
    decided({ stageId, requestId }: Pick<Seen, 'stageId' | 'requestId'>): void {
      const before = caches.find(stageId);
      const isSeen = seen?.stageId === stageId && seen.requestId === requestId;
      if (before === undefined || !isSeen) caches.forget(stageId);
      else caches.save(stageId, before - (seen?.isOpen ? 1 : 0));
      if (isSeen) seen = { stageId, requestId, isOpen: false };
    },
  };
}
