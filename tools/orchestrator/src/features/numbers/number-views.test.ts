import { DatabaseSync } from 'node:sqlite';
import {
  CLAUDE_CODE,
  LaunchId,
  Numbers,
  PendingRequest,
  PermissionRule,
  ProjectId,
  RequestId,
  type StageId,
} from '@callboard/contract';
import { sampleDecision, sampleRequest } from '@callboard/contract/samples';
import { expect, it } from 'vitest';
import { openTestStore, stageId } from '../../../test/support/test-store.ts';
import { localDay } from '../../core/session/spending-limits.ts';
import { createNumberViews } from './numbers.ts';

const NOW = '2026-03-30T12:00:00.000Z';
const MINUTE_MS = 60_000;

type Decided = { at: string; waitedMs: number } & Record<string, unknown>;

async function openNumbers(now = NOW) {
  const opened = await openTestStore();
  const { store } = opened;
  const views = createNumberViews({ store, platform: { now: () => new Date(now) } });
  let requests = 0;
  return {
    ...opened,
    read: async (days: number, timeZone = 'UTC') => Numbers.parse(await views.numbers({ days, timeZone })),
    /** Adds a request that ended as given. */
    decided: (stageId: StageId, { at, waitedMs, ...fields }: Decided) =>
      store.transact(async (tx) => {
        const requestId = RequestId.parse(`request-${++requests}`);
        const request = PendingRequest.parse(sampleRequest({ stageId, requestId, ...fields }));
        await tx.requests.addDecided(
          request,
          sampleDecision({ stageId, requestId, at, waitedMs, ...fields }),
          LaunchId.parse('launch-1'),
        );
      }),
    /** Adds a process that ran from `from` to `to`. */
    launched: (stageId: StageId, from: string, to: string | null) =>
      store.transact(async (tx) => {
        const id = LaunchId.parse(`launch-${stageId}-${from}`);
        await tx.launches.insert({ id, stageId, folder: '/f', createdAt: from });
        if (to !== null) await tx.launches.setEnded(id, to, 'stopped');
      }),
  };
}

it('says nothing about days in which nothing happened', async () => {
  const { read } = await openNumbers();
  expect(await read(7)).toEqual({
    from: '2026-03-24',
    to: '2026-03-30',
    timeZone: 'UTC',
    since: '2026-03-24T00:00:00.000Z',
    until: '2026-03-31T00:00:00.000Z',
    waits: { days: [], stages: [] },
    rules: { days: [], uses: [], texts: [], medianWaitMs: null, answers: 0 },
    spending: { timeZone: expect.any(String), from: expect.any(String), to: expect.any(String), days: [] },
    timeline: { launches: [], leftOut: 0, starts: 0, ranMs: 0, waits: [], waitsLeftOut: 0, leastMs: 302_400 },
    stages: [],
  });
});

it('adds up waits by day and kind and by stage and kind, without what Claude Code decided itself', async () => {
  const { read, decided, addStage } = await openNumbers();
  const [one, two] = [await addStage({ title: 'Login form' }), await addStage()];
  await decided(one, { at: '2026-03-30T10:00:00.000Z', waitedMs: 1_000 });
  await decided(two, { at: '2026-03-30T11:00:00.000Z', waitedMs: 3_000 });
  await decided(one, { at: '2026-03-28T11:00:00.000Z', waitedMs: 500, kind: 'question', outcome: 'answered' });
  // Nobody answered: Claude waited all the same.
  await decided(one, { at: '2026-03-28T12:00:00.000Z', waitedMs: 250, outcome: 'timed-out', by: null });
  await decided(one, { at: '2026-03-28T12:00:00.000Z', waitedMs: 0, outcome: 'denied', by: CLAUDE_CODE });
  // Before the first day, and after the last.
  await decided(one, { at: '2026-03-23T23:59:59.999Z', waitedMs: 7 });
  await decided(one, { at: '2026-03-31T00:00:00.000Z', waitedMs: 7 });
  const { waits, stages } = await read(7);
  expect(waits.days).toEqual([
    { day: '2026-03-28', kind: 'approval', count: 1, waitedMs: 250 },
    { day: '2026-03-28', kind: 'question', count: 1, waitedMs: 500 },
    { day: '2026-03-30', kind: 'approval', count: 2, waitedMs: 4_000 },
  ]);
  expect(waits.stages.toSorted((a, b) => a.waitedMs - b.waitedMs)).toEqual([
    { stageId: one, kind: 'question', count: 1, waitedMs: 500 },
    { stageId: one, kind: 'approval', count: 2, waitedMs: 1_250 },
    { stageId: two, kind: 'approval', count: 1, waitedMs: 3_000 },
  ]);
  expect(stages.find(({ stageId }) => stageId === one)).toMatchObject({ title: 'Login form', isDeleted: false });
});

it('counts by the days of the person’s time zone, also where one has 23 hours', async () => {
  const { read, decided, addStage } = await openNumbers();
  const stage = await addStage();
  // 29 March begins at 23:00 UTC in Berlin and ends 23 hours later.
  for (const [at, waitedMs] of [
    ['2026-03-28T22:59:59.999Z', 1],
    ['2026-03-28T23:00:00.000Z', 2],
    ['2026-03-29T21:59:59.999Z', 4],
    ['2026-03-29T22:00:00.000Z', 8],
  ] as const)
    await decided(stage, { at, waitedMs });
  const of = async (zone: string) =>
    Object.fromEntries((await read(7, zone)).waits.days.map(({ day, waitedMs }) => [day, waitedMs]));
  expect(await of('Europe/Berlin')).toEqual({ '2026-03-28': 1, '2026-03-29': 6, '2026-03-30': 8 });
  expect(await of('UTC')).toEqual({ '2026-03-28': 3, '2026-03-29': 12 });
});

it('keeps the decisions of a deleted stage, with its last title', async () => {
  const { read, decided, addStage, store } = await openNumbers();
  const stageId = await addStage({ title: 'Old theme' });
  await decided(stageId, { at: NOW, waitedMs: 1_000 });
  await store.transact(async (tx) => {
    const stage = await tx.stages.find(stageId);
    if (stage === null) throw new Error('there is no stage');
    await tx.requests.retainOf(stage);
    await tx.stages.remove(stageId);
  });
  const { waits, stages } = await read(7);
  expect(waits.stages).toEqual([{ stageId, kind: 'approval', count: 1, waitedMs: 1_000 }]);
  expect(stages).toMatchObject([{ stageId, title: 'Old theme', isDeleted: true }]);
});

it('counts a call once that several rules let through, and takes the median of what people allowed or denied', async () => {
  const { read, decided, addStage, store } = await openNumbers();
  const [stage, other] = [await addStage(), await addStage()];
  const rule = PermissionRule.parse({
    ruleId: 'rule-1',
    scope: 'project',
    projectId: 'shop',
    stageId: null,
    kind: 'allow',
    rule: 'Bash(npm test)',
    by: 'Ada',
    createdAt: NOW,
  });
  await store.transact(async (tx) => {
    await tx.rules.save(rule);
    await tx.rules.save({ ...rule, ruleId: 'rule-2', rule: 'Bash(npm run lint)' });
    const second = { entry: 1, ruleId: 'rule-2', asked: 'Bash npm test && npm run lint' };
    await tx.rules.addUse({ ...second, stageId: stage, toolUseId: 'b', at: '2026-03-30T10:00:00.000Z' });
    await tx.rules.addUse({ ...second, stageId: other, toolUseId: 'b', at: '2026-03-30T10:00:00.000Z' });
    for (const [toolUseId, at] of [
      ['a', '2026-03-29T10:00:00.000Z'],
      ['b', '2026-03-30T10:00:00.000Z'],
      ['c', '2026-03-30T11:00:00.000Z'],
      ['d', '2026-03-01T10:00:00.000Z'],
    ] as const)
      await tx.rules.addUse({ entry: 1, ruleId: rule.ruleId, stageId: stage, toolUseId, asked: 'Bash npm test', at });
  });
  await decided(stage, { at: NOW, waitedMs: 10_000 });
  await decided(stage, { at: NOW, waitedMs: 20_000, outcome: 'denied' });
  await decided(stage, { at: NOW, waitedMs: 90_000 });
  await decided(stage, { at: NOW, waitedMs: 600_000 });
  // No answers to a permission.
  await decided(stage, { at: NOW, waitedMs: 1, kind: 'question', outcome: 'answered' });
  await decided(stage, { at: NOW, waitedMs: 1, outcome: 'closed', by: null });
  await decided(stage, { at: NOW, waitedMs: 0, outcome: 'denied', by: CLAUDE_CODE });
  const { rules } = await read(7);
  expect(rules).toEqual({
    days: [
      { day: '2026-03-29', count: 1 },
      { day: '2026-03-30', count: 3 },
    ],
    uses: [
      { day: '2026-03-29', ruleId: 'rule-1', count: 1 },
      { day: '2026-03-30', ruleId: 'rule-1', count: 2 },
      { day: '2026-03-30', ruleId: 'rule-2', count: 2 },
    ],
    texts: [
      { ruleId: 'rule-1', rule: rule.rule, projectId: rule.projectId },
      { ruleId: 'rule-2', rule: 'Bash(npm run lint)', projectId: rule.projectId },
    ],
    medianWaitMs: 55_000,
    answers: 4,
  });
});

it('adds up spending by day and project', async () => {
  const { read, store } = await openNumbers();
  const [shop, site] = [ProjectId.parse('shop'), ProjectId.parse('site')];
  const spent = (day: string, id: string, projectId: ProjectId, usd: number) => ({
    day,
    stageId: stageId(id),
    projectId,
    usd,
    tokens: usd * 1_000,
  });
  await store.transact(async (tx) => {
    await tx.spending.add(spent('2026-03-23', 'S1', shop, 8));
    await tx.spending.add(spent('2026-03-29', 'S1', shop, 0.5));
    await tx.spending.add(spent('2026-03-29', 'S2', shop, 0.25));
    await tx.spending.add(spent('2026-03-29', 'S3', site, 2));
    await tx.spending.add(spent('2026-03-30', 'S1', shop, 4));
  });
  expect((await read(7)).spending.days).toEqual([
    { day: '2026-03-29', projectId: 'shop', usd: 0.75, tokens: 750 },
    { day: '2026-03-29', projectId: 'site', usd: 2, tokens: 2_000 },
    { day: '2026-03-30', projectId: 'shop', usd: 4, tokens: 4_000 },
  ]);
});

it.each([
  ['behind', 'Pacific/Pago_Pago', '2026-03-30T05:00:00.000Z', '2026-03-29'],
  ['ahead of', 'Pacific/Kiritimati', '2026-03-30T12:00:00.000Z', '2026-03-31'],
])(
  'has spending by the last days of the server, also for a person whose clock is a day %s it',
  async (_, zone, now, to) => {
    const { read, store } = await openNumbers(now);
    const daysAgo = (days: number) => localDay(new Date(Date.parse(now) - days * 24 * 60 * MINUTE_MS));
    const spent = { stageId: stageId('S1'), projectId: ProjectId.parse('shop'), tokens: 0 };
    await store.transact(async (tx) => {
      for (const [day, usd] of [
        [daysAgo(0), 1],
        [daysAgo(6), 2],
        [daysAgo(7), 4],
      ] as const)
        await tx.spending.add({ ...spent, day, usd });
    });
    const { spending, ...numbers } = await read(7, zone);
    expect([numbers.to, spending.from, spending.to]).toEqual([to, daysAgo(6), daysAgo(0)]);
    expect(spending.days.map(({ day, usd }) => [day, usd])).toEqual([
      [daysAgo(6), 2],
      [daysAgo(0), 1],
    ]);
  },
);

it('draws launches that ran in these days, long waits and open ones', async () => {
  const { read, decided, launched, addStage, store } = await openNumbers();
  const stageId = await addStage();
  await launched(stageId, '2026-03-20T00:00:00.000Z', '2026-03-23T00:00:00.000Z'); // over before the first day
  await launched(stageId, '2026-03-23T00:00:00.000Z', '2026-03-25T00:00:00.000Z');
  await launched(stageId, '2026-03-30T00:00:00.000Z', null);
  await decided(stageId, { at: '2026-03-25T10:00:00.000Z', waitedMs: 30 * MINUTE_MS });
  await decided(stageId, { at: '2026-03-25T11:00:00.000Z', waitedMs: 4 * MINUTE_MS });
  await store.transact(async (tx) => {
    const open = sampleRequest({ stageId, requestId: 'open', createdAt: '2026-03-30T11:59:00.000Z' });
    await tx.requests.open(PendingRequest.parse(open), LaunchId.parse('launch-2'));
  });
  const { timeline } = await read(7);
  expect(timeline).toEqual({
    launches: [
      { stageId, startedAt: '2026-03-30T00:00:00.000Z', endedAt: null },
      { stageId, startedAt: '2026-03-23T00:00:00.000Z', endedAt: '2026-03-25T00:00:00.000Z' },
    ],
    leftOut: 0,
    starts: 1, // the other began before the first day
    ranMs: (24 + 12) * 60 * MINUTE_MS, // its last day, and half of today
    waits: [
      { stageId, from: '2026-03-30T11:59:00.000Z', to: null },
      { stageId, from: '2026-03-25T09:30:00.000Z', to: '2026-03-25T10:00:00.000Z' },
    ],
    waitsLeftOut: 0,
    leastMs: 302_400, // five minutes are a two-thousandth of a week
  });
});

it('counts 100,000 decisions, and lists 2,000 launches and 5,000 waits at most', async () => {
  const { read, addStage, file } = await openNumbers();
  const stage = await addStage();
  const db = new DatabaseSync(file);
  db.exec(`
    with recursive n(i) as (select 0 union all select i + 1 from n where i < 99999)
    insert into requests (stage_id, request_id, launch_id, state, kind, tool_name, document, decision, outcome, decided_by, created_at, decided_at, stage_title)
    select iif(i % 2, '${stage}', 'STAGE-' || (i % 100)), 'r' || i, 'l', 'decided', 'approval', 'Bash', '{}',
      json_object('waitedMs', iif(i % 10, 1000, 86400000)), 'allowed', 'Ada', '2026-01-01T00:00:00.000Z',
      strftime('%Y-%m-%dT%H:%M:%fZ', '2026-03-30', '-' || ((99999 - i) * 70) || ' seconds'), iif(i % 2, null, 'Deleted') from n;
    with recursive n(i) as (select 0 union all select i + 1 from n where i < 2009)
    insert into launches (id, stage_id, state, folder, created_at, ended_at)
    select 'launch-' || i, '${stage}', 'ended', '/f', strftime('%Y-%m-%dT%H:%M:%fZ', '2026-03-30', '-' || i || ' minutes'), '2026-03-30T00:00:00.000Z' from n`);
  const plan =
    db.prepare(`explain query plan select kind, count(*), sum(json_extract(decision, '$.waitedMs')) from requests
    where decided_at >= 'a' and decided_at < 'b' and (decided_by is null or decided_by <> 'x') group by stage_id, kind`);
  expect(JSON.stringify(plan.all())).toContain('COVERING INDEX requests_by_decision');
  db.close();
  const { waits, timeline, rules } = await read(90);
  const sum = <T>(rows: readonly T[], of: (row: T) => number) => rows.reduce((all, row) => all + of(row), 0);
  expect(sum(waits.days, ({ count }) => count)).toBe(100_000);
  expect(sum(waits.stages, ({ waitedMs }) => waitedMs)).toBe(90_000 * 1_000 + 10_000 * 86_400_000);
  expect(waits.stages).toHaveLength(51);
  expect(rules).toMatchObject({ medianWaitMs: 1_000, answers: 1_000 });
  expect([timeline.launches.length, timeline.leftOut, timeline.starts]).toEqual([2_000, 10, 2_010]);
  expect(timeline.ranMs).toBe(((2_010 * 2_009) / 2) * MINUTE_MS); // 0, 1, 2 ... 2,009 minutes
  expect([timeline.waits.length, timeline.waitsLeftOut]).toEqual([5_000, 5_000]);
});
