import { CLAUDE_CODE, type Numbers, PermissionRule, ProjectId, RequestKind, StageId } from '@callboard/contract';
import { sql } from 'kysely';
import type { NumbersTable } from '../../ports/numbers-table.ts';
import type { Database } from '../database.ts';
import { type Dialect, dialectOf } from '../dialect.ts';
import { builder, param, prepare } from '../prepared.ts';
import { documentOf } from './map-row.ts';

const toRule = documentOf(PermissionRule);

/** The very expression of the index `requests_by_decision`, which therefore answers without reading a request. */
const waitedIn = ({ number }: Dialect) => number(sql.ref('decision'), 'waitedMs');

/** How many names one statement asks for. */
const NAMES = 500;

/** The requests that ended in a span, without what Claude Code decided itself. */
const decided = builder
  .selectFrom('requests')
  .where('decided_at', '>=', param('from'))
  .where('decided_at', '<', param('to'))
  .where((eb) => eb.or([eb('decided_by', 'is', null), eb('decided_by', '<>', CLAUDE_CODE)]));

// One of each for each day: to build them would take longer than to run them.
const waits = prepare((dialect) =>
  decided
    .select((eb) => [
      ...(['stage_id', 'kind'] as const),
      eb.fn.countAll<number>().as('count'),
      eb.fn.sum<number>(waitedIn(dialect)).as('waited'),
    ])
    .groupBy(['stage_id', 'kind']),
);
const longWaits = prepare((dialect) =>
  decided
    .select(['stage_id', 'decided_at', waitedIn(dialect).as('waited')])
    .where(waitedIn(dialect), '>=', param<number>('leastMs'))
    .orderBy('decided_at', 'desc'),
);
const approvalWaits = prepare((dialect) =>
  decided
    .select(waitedIn(dialect).as('waited'))
    .where('kind', '=', 'approval')
    .where('outcome', 'in', ['allowed', 'denied'])
    .orderBy('decided_at', 'desc')
    .limit(param<number>('limit')),
);
const used = builder.selectFrom('rule_uses').where('at', '>=', param('from')).where('at', '<', param('to'));
const ruleUses = prepare(
  used.select((eb) => ['rule_id as ruleId', eb.fn.countAll<number>().as('count')]).groupBy('rule_id'),
);
const ruledCalls = prepare(
  builder
    .selectFrom(used.select(['stage_id', 'tool_use_id']).distinct().as('calls'))
    .select((eb) => eb.fn.countAll<number>().as('count')),
);

/** The launches that ran in a span. */
const running = builder
  .selectFrom('launches')
  .where('created_at', '<', param('to'))
  .where((eb) => eb.or([eb('ended_at', 'is', null), eb('ended_at', '>=', param('from'))]));
const launches = prepare(
  running
    .select(['stage_id', 'created_at as startedAt', 'ended_at as endedAt'])
    .orderBy('created_at', 'desc')
    .limit(param<number>('limit')),
);
const ran = prepare(({ least, greatest, seconds }) =>
  running
    .where('created_at', '>=', param('begunFrom'))
    .where('created_at', '<', param('begunTo'))
    .select((eb) => {
      const end = least<string | null>(eb.fn.coalesce('ended_at', param('now')), param('to'));
      const begin = greatest<string | null>(eb.ref('created_at'), param('from'));
      // A clock that was set back may have a launch end before it began.
      const lasted = greatest(sql.lit(0), sql<number>`${seconds(end)} - ${seconds(begin)}`);
      return [eb.fn.countAll<number>().as('count'), eb.fn.sum<number | null>(lasted).as('ranSeconds')];
    }),
);

/** See `NumbersTable`. */
export function numbersTable(db: Database): NumbersTable {
  return {
    async waits(span) {
      return (await waits(db, { ...span })).map(({ stage_id, kind, count, waited: waitedMs }) => ({
        stageId: StageId.parse(stage_id),
        kind: RequestKind.parse(kind),
        count,
        waitedMs,
      }));
    },
    async longWaits(span, leastMs) {
      return (await longWaits(db, { ...span, leastMs })).map(({ stage_id, decided_at: to, waited: waitedMs }) => ({
        stageId: StageId.parse(stage_id),
        from: new Date(Date.parse(to ?? '') - waitedMs).toISOString(),
        to,
      }));
    },
    async openWaits() {
      const rows = db.selectFrom('requests').select(['stage_id', 'created_at']).where('state', '=', 'open');
      return (await rows.orderBy('created_at').execute()).map(({ stage_id, created_at: from }) => ({
        stageId: StageId.parse(stage_id),
        from,
        to: null,
      }));
    },
    async approvalWaits(span, limit) {
      return (await approvalWaits(db, { ...span, limit })).map((row) => row.waited);
    },
    ruleUses: (span) => ruleUses(db, { ...span }),
    async ruledCalls(span) {
      return (await ruledCalls(db, { ...span }))[0]?.count ?? 0;
    },
    async ruleTexts(ruleIds) {
      const texts = await inDeps(ruleIds, (ids) =>
        db
          .selectFrom('rules')
          .select('document')
          .where('id', 'in', [...ids])
          .execute(),
      );
      return texts.map(toRule).map(({ ruleId, rule, projectId }) => ({ ruleId, rule, projectId }));
    },
    async launches(span, limit) {
      const rows = await launches(db, { ...span, limit });
      return rows.map(({ stage_id, ...span }) => ({ stageId: StageId.parse(stage_id), ...span }));
    },
    async ran(begun, span, now) {
      const [row] = await ran(db, { begunFrom: begun.from, begunTo: begun.to, ...span, now });
      return { count: row?.count ?? 0, ranMs: Math.round((row?.ranSeconds ?? 0) * 1_000) };
    },
    stagesOf: (stageIds) => stagesOf(db, stageIds),
  };
}

async function stagesOf(db: Database, stageIds: readonly StageId[]): Promise<Numbers['stages']> {
  const saved = await inDeps(stageIds, (ids) =>
    db
      .selectFrom('stages')
      .select(['id', 'project_id', dialectOf(db).text(sql.ref('document'), 'title').as('title')])
      .where('id', 'in', [...ids])
      .execute(),
  );
  const known = new Map(saved.map((row) => [row.id, row]));
  const found: Numbers['stages'] = [];
  for (const stageId of stageIds) {
    const stage = known.get(stageId) ?? (await deletedStage(db, stageId));
    found.push({
      stageId,
      title: stage?.title ?? null,
      projectId: ProjectId.safeParse(stage?.project_id).data ?? null,
      isDeleted: !known.has(stageId),
    });
  }
  return found;
}

/** What some decision of a deleted stage says about it. To find the newest would read all of them. */
const deletedStage = (db: Database, stageId: StageId) =>
  db
    .selectFrom('requests')
    .select(['stage_title as title', 'project_id'])
    .where('stage_id', '=', stageId)
    .where('stage_title', 'is not', null)
    .limit(1)
    .executeTakeFirst();

async function inDeps<T>(names: readonly string[], ask: (part: readonly string[]) => Promise<T[]>): Promise<T[]> {
  const found: T[] = [];
  for (let from = 0; from < names.length; from += NAMES) found.push(...(await ask(names.slice(from, from + NAMES))));
  return found;
}
