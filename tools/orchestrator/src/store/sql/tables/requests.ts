import {
  type Decision,
  isUnsettled,
  type LaunchId,
  type PendingRequest,
  type RequestId,
  type Stage,
  type StageId,
} from '@callboard/contract';
import { sql } from 'kysely';
import type { DelayedAnswerRow, RequestAddress, RequestsTable, StoredRequest } from '../../ports/requests-table.ts';
import type { Database } from '../database.ts';
import { dialectOf } from '../dialect.ts';
import type { RowCaches } from '../known-rows.ts';
import { builder, param, prepare, prepareWrite } from '../prepared.ts';
import { answeredCallsOf } from './answered-calls.ts';
import { decisionPage } from './decision-log.ts';
import { mapRow } from './map-row.ts';
import { createOpenCount } from './open-count.ts';
import { toDecision, toStored } from './request-row.ts';

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
