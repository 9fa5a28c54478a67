import {
  Budget,
  CLAUDE_CODE,
  LIMIT_DEFAULTS,
  LimitSettings,
  type MachineId,
  type Numbers,
  Pause,
  type PauseScope,
  PermissionRule,
  ProjectId,
  RequestKind,
  StageId,
  scopeKey,
  UsageLimits,
} from '@callboard/contract';
import { sql } from 'kysely';
import { z } from 'zod';
import type { BudgetsTable, LimitsTable, NumbersTable, PausesTable, SpendingTable } from '../ports/usage-port.ts';
import { type RowCaches, wholeOf } from './cached-rows.ts';
import { builder, type Dialect, dialectOf, param, prepare, prepareWrite } from './prepared.ts';
import { documentOf, mapRow } from './rows.ts';
import type { Database } from './schema.ts';

const toBudget = documentOf(Budget.omit({ spent: true }).extend({ warnedFor: z.string().nullable() }));

const listed = prepare(builder.selectFrom('budgets').select('document').orderBy('scope'));

/** See `BudgetsTable`. */
export function budgetsTable(db: Database, caches: RowCaches['budgets']): BudgetsTable {
  return {
    list: () => wholeOf(caches, async () => (await listed(db, {})).map(toBudget)),
    async save(budget) {
      caches.forgetAll();
      const document = JSON.stringify(budget);
      await db
        .insertInto('budgets')
        .values({ scope: scopeKey(budget.scope), document })
        .onConflict((conflict) => conflict.column('scope').doUpdateSet({ document }))
        .execute();
    },
    async remove(scope) {
      caches.forgetAll();
      await db.deleteFrom('budgets').where('scope', '=', scopeKey(scope)).execute();
    },
  };
}

const toPause = documentOf(Pause);

const keyOf = (scope: PauseScope): string => ('projectId' in scope ? `project:${scope.projectId}` : 'all');

const listedHold = prepare(builder.selectFrom('holds').select('document').orderBy('scope'));

/** See `PausesTable`. */
export function pausesTable(db: Database, caches: RowCaches['holds']): PausesTable {
  return {
    list: () => wholeOf(caches, async () => (await listedHold(db, {})).map(toPause)),
    async save(pause) {
      caches.forgetAll();
      const document = JSON.stringify(pause);
      await db
        .insertInto('holds')
        .values({ scope: keyOf(pause.scope), document })
        .onConflict((conflict) => conflict.column('scope').doUpdateSet({ document }))
        .execute();
    },
    async remove(scope) {
      caches.forgetAll();
      await db.deleteFrom('holds').where('scope', '=', keyOf(scope)).execute();
    },
  };
}

const toLimits = documentOf(UsageLimits);
const toSettings = documentOf(LimitSettings);

const reportedOf = (machine?: MachineId) => (machine === undefined ? 'reported' : `reported:${machine}`);

/** See `LimitsTable`. One row each. */
export function limitsTable(db: Database): LimitsTable {
  const find = (name: string) =>
    db.selectFrom('usage_limits').select('document').where('name', '=', name).executeTakeFirst();

  async function save(name: string, value: UsageLimits | LimitSettings): Promise<void> {
    const document = JSON.stringify(value);
    await db
      .insertInto('usage_limits')
      .values({ name, document })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ document }))
      .execute();
  }

  return {
    async view(of) {
      const limits = mapRow(await find(reportedOf(of)), toLimits);
      return { limits, settings: mapRow(await find('settings'), toSettings) ?? LIMIT_DEFAULTS };
    },
    saveReported: (limits, of) => save(reportedOf(of), limits),
    saveSettings: (settings) => save('settings', settings),
  };
}

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

const add = prepareWrite(
  builder
    .insertInto('spending')
    .values({
      day: param('day'),
      stage_id: param('stageId'),
      project_id: param('projectId'),
      usd: param<number>('usd'),
      tokens: param<number>('tokens'),
    })
    .onConflict((conflict) =>
      conflict.columns(['day', 'stage_id']).doUpdateSet((row) => ({
        usd: sql<number>`${row.ref('spending.usd')} + ${row.ref('excluded.usd')}`,
        tokens: sql<number>`${row.ref('spending.tokens')} + ${row.ref('excluded.tokens')}`,
      })),
    ),
);

/** See `SpendingTable`. */
export function spendingTable(db: Database): SpendingTable {
  return {
    add: ({ day, stageId, projectId, usd, tokens }) => add(db, { day, stageId, projectId, usd, tokens }),
    async list(from, to) {
      const rows = await db
        .selectFrom('spending')
        .selectAll()
        .where('day', '>=', from)
        .where('day', '<=', to)
        .orderBy('day')
        .orderBy('stage_id')
        .execute();
      return rows.map(({ day, stage_id, project_id, usd, tokens }) => {
        const of = { stageId: StageId.parse(stage_id), projectId: ProjectId.parse(project_id) };
        return { day, ...of, usd: Number(usd.toFixed(9)), tokens };
      });
    },
    async sum(scope, today) {
      const sums = db
        .selectFrom('spending')
        .select((of) => [of.fn.sum<number | null>('usd').as('usd'), of.fn.sum<number | null>('tokens').as('tokens')]);
      let rows = sums;
      if ('stageId' in scope) rows = sums.where('stage_id', '=', scope.stageId);
      else if ('projectId' in scope) rows = sums.where('project_id', '=', scope.projectId);
      else if ('day' in scope) rows = sums.where('day', '=', today);
      const { usd, tokens } = await rows.executeTakeFirstOrThrow();
      return { usd: usd ?? 0, tokens: tokens ?? 0 };
    },
  };
}
