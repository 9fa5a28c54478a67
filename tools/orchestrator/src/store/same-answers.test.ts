import {
  LaunchId,
  MessageId,
  PermissionRule,
  ProjectId,
  RequestId,
  type StageId,
  TranscriptEntry,
} from '@callboard/contract';
import { AT, sampleDecision, sampleRequest } from '@callboard/contract/samples';
import { describe, expect, it } from 'vitest';
import { postgresLack } from '../../../../test-support/postgres.ts';
import {
  openTestStore,
  type StoreKind,
  sampleProject,
  stageId,
  type TestStore,
} from '../../test/support/test-store.ts';
import { AnnouncementRecord } from './ports/event-port.ts';
import { messageBody, type OutboxBody } from './records.ts';
import type { Store } from './store.ts';

/** Texts that databases sort, fold, escape or refuse differently. */
const ODD = [
  'Zebra',
  'apple',
  'Äpfel',
  'ß',
  '\u{1F980}',
  'nul \0 in it',
  'half \ud800 pair',
  'back\\u0000slash',
  '_',
  '%',
];
const SHOP = ProjectId.parse('shop');
const LAUNCH = LaunchId.parse('launch-1');
const SUGGESTION = { type: 'addRules', rules: [{ toolName: 'Bash' }], behavior: 'allow', destination: 'session' };
const at = (minute: number) => new Date(Date.parse(AT) + minute * 60_000).toISOString();
const bigRequest = (fields: object) => sampleRequest({ stageId: 'S1', ...fields });

/** What queries of both stores return after the same writes. */
async function answers(kind: StoreKind): Promise<Record<string, unknown>> {
  const test = await openTestStore(undefined, kind);
  for (const title of ODD) await test.addStage({ title, worktree: null });
  const { store } = test;
  return {
    ...(await ofRequests(store)),
    ...(await ofRules(store)),
    ...(await ofOutbox(test)),
    ...(await ofTranscript(store)),
    ...(await ofSmallTables(store)),
    stages: await store.read.stages.list(),
    board: await store.board(),
    events: await store.read.events.since(0, 1_000),
  };
}

async function ofRequests(store: Store) {
  const { requests, numbers } = store.read;
  await store.transact(async (tx) => {
    for (const [nth, text] of ODD.entries()) {
      const place = { stageId: `S${(nth % 4) + 1}`, requestId: RequestId.parse(`r${nth}`) };
      const ask = { ...place, input: { command: text, url: text }, suggestions: nth % 2 === 0 ? [SUGGESTION] : [] };
      await tx.requests.open(bigRequest({ ...ask, createdAt: at(nth) }), LAUNCH);
      expect(await tx.requests.open(bigRequest(ask), LAUNCH)).toBe(false);
      if (nth % 5 === 4) continue;
      const outcome = (['allowed', 'denied', 'timed-out', 'closed'] as const)[nth % 4] ?? 'allowed';
      const said = { outcome, by: nth % 3 === 0 ? null : text, reason: text, asked: `Bash ${text}`, device: text };
      const denial = nth % 6 === 0 ? { source: 'rule', detail: text } : null;
      const sent = { delivery: nth === 3 ? 'unknown' : 'confirmed', waitedMs: nth * 1_000, at: at(nth + 1), denial };
      await tx.requests.decide(sampleDecision({ ...place, ...said, ...sent }));
    }
    await tx.requests.addDecided(
      bigRequest({ requestId: 'added', input: { command: 'x'.repeat(30_000) } }),
      sampleDecision({ stageId: 'S2', requestId: 'added', at: at(50), waitedMs: 9_000_000 }),
      LAUNCH,
    );
  });
  const first = await store.read.stages.find(stageId('S1'));
  if (first !== null) await store.transact((tx) => tx.requests.retainOf(first));
  const pages = [];
  for (let before: string | undefined; ; ) {
    const page = await requests.decisions({ limit: 2, before });
    pages.push(page);
    if (page.next === null) break;
    before = page.next;
  }
  const span = { from: at(0), to: at(100) };
  const asked = { projectId: SHOP, from: 0, to: 1_000 };
  return {
    open: await requests.listOpen(),
    counts: [await requests.countOpenOf(stageId('S1')), await requests.bytesOpen(), await requests.newestOrdinal()],
    unsettled: [await requests.listUnsettled(), await requests.listUnsettledOf(stageId('S4'))],
    found: [await requests.findAll(RequestId.parse('r2')), await requests.find(stageId('S2'), RequestId.parse('r1'))],
    outcomes: await requests.outcomesOf(stageId('S1'), sampleRequest({}).toolUseId),
    pages,
    filtered: await Promise.all(
      [
        ...[{ outcome: 'denied' }, { by: 'Äpfel' }, { source: 'person' }, { source: 'rule' }, { projectId: SHOP }],
        ...[{ toolName: 'Bash' }, { kind: 'approval' }, { stageId: stageId('S1') }, { since: at(5) }],
        ...[{ device: ODD[1] }, { device: 'none' }],
      ].map((filter) => requests.decisions({ limit: 100, ...(filter as object) })),
    ),
    calls: await requests.answeredCalls({ ...asked, toolName: 'Bash' }),
    callsWith: await requests.answeredCalls({ ...asked, toolName: 'Bash', text: 'pp' }),
    counted: await requests.countAnswered(asked),
    waits: (await numbers.waits(span)).toSorted((a, b) => (a.stageId < b.stageId ? -1 : 1)),
    longWaits: await numbers.longWaits(span, 5_000),
    openWaits: await numbers.openWaits(),
    approvalWaits: await numbers.approvalWaits(span, 3),
    stagesOf: await numbers.stagesOf(['S1', 'S2', 'gone'].map(stageId)),
  };
}

async function ofRules(store: Store) {
  const rule = (ruleId: string, fields: object) =>
    PermissionRule.parse({
      ruleId,
      scope: 'project',
      projectId: 'shop',
      stageId: null,
      kind: 'allow',
      rule: `Bash(${ruleId})`,
      by: 'Ada',
      createdAt: AT,
      expiresAt: null,
      endedAt: null,
      endedBy: null,
      ...fields,
    });
  await store.transact(async (tx) => {
    for (const [nth, text] of ODD.entries()) {
      await tx.rules.save(rule(text, { expiresAt: nth % 2 === 0 ? at(nth) : null, endedAt: nth === 4 ? at(1) : null }));
      await tx.rules.saveDismissal(SHOP, text, nth);
    }
    await tx.rules.save(rule('S2', { scope: 'stage', stageId: 'S2' }));
    for (const nth of [0, 1, 2, 3, 4, 5, 6, 6]) {
      const use = { ruleId: 'apple', stageId: stageId(`S${nth % 3}`), toolUseId: `t${nth}`, entry: nth };
      await tx.rules.addUse({ ...use, asked: ODD[nth % 3] ?? '', at: at(20 - nth) });
    }
    await tx.rules.addRetry({ stageId: stageId('S2'), requestId: RequestId.parse('r1'), actor: 'Ada' });
  });
  const { rules, numbers } = store.read;
  const span = { from: at(0), to: at(18) };
  return {
    rules: await rules.listAll(undefined),
    applying: [await rules.listOf(SHOP, at(3)), await rules.listFor(SHOP, stageId('S2'), at(3))],
    ending: await rules.listEnding(),
    used: [await rules.withUse(await rules.listAll(SHOP)), await rules.withUse([])],
    dismissals: [await rules.dismissals(SHOP, ['ß', '_', 'none']), await rules.dismissals(SHOP, [])],
    ruleUses: [await numbers.ruleUses(span), await numbers.ruledCalls(span), await numbers.ruleTexts(['apple', 'ß'])],
    removed: await store.transact((tx) => tx.rules.removeRetry(stageId('S2'), RequestId.parse('r1'))),
    retries: await rules.listRetries(),
  };
}

async function ofOutbox({ store }: TestStore) {
  const S2 = stageId('S2');
  const message = (text: string) => messageBody({ text, attachments: [], isCommand: false, attachesFiles: false });
  const wireId = (nth: number) => MessageId.parse(`00000000-0000-4000-8000-00000000000${nth}`);
  await store.transact(async (tx) => {
    for (const nth of [1, 2]) {
      await tx.launches.insert({
        id: LaunchId.parse(`launch-${nth}`),
        stageId: S2,
        folder: `/l${nth}`,
        createdAt: at(nth),
      });
    }
    await tx.launches.setLive(LAUNCH, { pid: 7, startTime: '1', bootId: 'b' });
    await tx.launches.setOffset(LAUNCH, 3_000_000_000);
    await tx.launches.setEnded(LAUNCH, at(9), 'ended');
    for (const nth of [1, 2, 3, 4]) {
      const row = {
        id: `row-${nth}`,
        stageId: S2,
        launchId: null,
        wireId: wireId(nth),
        actor: null,
        createdAt: at(nth),
      };
      await tx.outbox.insert({ ...row, body: message(ODD[nth] ?? ''), position: 9 - nth });
    }
    const control: OutboxBody = { kind: 'control', request: { subtype: 'interrupt' } };
    const row = { id: 'row-c', stageId: S2, launchId: LAUNCH, wireId: 'c', actor: 'Ada', createdAt: at(4) };
    await tx.outbox.insert({ ...row, body: control });
    const [first, second] = await tx.outbox.queueOf(S2);
    if (first !== undefined) await tx.outbox.give(first, LAUNCH, message('given'));
    if (second !== undefined) await tx.outbox.setVoid(second.id, 'no');
    await tx.outbox.setWriting('row-c');
  });
  await store.transact((tx) => tx.outbox.setWritten({ id: 'row-c', launchId: LAUNCH }, at(6)));
  const { outbox, launches, numbers } = store.read;
  const span = { from: at(0), to: at(30) };
  return {
    queue: await outbox.queueOf(S2),
    numbersOfQueue: [await outbox.countQueued(S2), await outbox.lastPosition(S2), await outbox.countUnread(LAUNCH)],
    rows: [await outbox.listOf(LAUNCH, ['accepted', 'written']), await outbox.listOf(LAUNCH, [])],
    controls: await outbox.controlsSince(LAUNCH, at(4)),
    byWire: [await outbox.findByWireId(LAUNCH, 'c'), await outbox.findMessage(S2, wireId(4))],
    launches: [await launches.listOf(S2), await launches.listNotEnded(), await launches.find(LAUNCH)],
    ran: [await numbers.launches(span, 10), await numbers.ran(span, span, at(20))],
  };
}

async function ofTranscript(store: Store) {
  const S3 = stageId('S3');
  await store.transact(async (tx) => {
    for (const [nth, text] of ODD.entries()) {
      const index = nth + 1;
      const base = { stageId: S3, index, at: at(nth), parentToolUseId: null };
      const messageId = MessageId.parse(`00000000-0000-4000-8000-0000000000${10 + nth}`);
      const entry =
        nth % 2 === 0
          ? { ...base, kind: 'user', text, messageId, by: 'Ada', state: 'confirmed' }
          : { ...base, kind: 'tool-use', blockId: `b${index}`, toolUseId: text, toolName: 'Bash', input: { text } };
      await tx.transcript.append([TranscriptEntry.parse(entry)]);
    }
  });
  const { transcript } = store.read;
  const page = (fields: object) => transcript.page(S3, { after: undefined, before: undefined, limit: 4, ...fields });
  return {
    entries: [await page({ after: 2 }), await page({}), await page({ before: 5 })],
    message: await transcript.findMessage(S3, MessageId.parse('00000000-0000-4000-8000-000000000014')),
    calls: await Promise.all(ODD.map((text) => transcript.findCall(S3, text))),
    messages: await transcript.countMessages(S3, 3),
  };
}

async function ofSmallTables(store: Store) {
  const S2: StageId = stageId('S2');
  await store.transact(async (tx) => {
    for (const [nth, text] of ODD.entries()) {
      await tx.viewed.save(S2, 'Ada', { path: text, version: 'a' });
      await tx.viewed.save(S2, 'Ada', { path: text, version: `v${nth}` });
      await tx.projects.save(sampleProject({ id: `p${nth}`, name: text, path: `/${text}` }));
      const day = `2026-01-0${(nth % 3) + 1}`;
      await tx.spending.add({ day, stageId: S2, projectId: SHOP, usd: 0.1, tokens: nth });
      const key = `k${nth}`;
      const row = {
        key,
        stageId: S2,
        signal: 'failed',
        requestId: null,
        since: at(nth),
        madeAt: at(nth),
        settledAt: null,
      };
      await tx.announcements.insert(AnnouncementRecord.parse(row));
      const to = { channel: 'push', target: nth % 2 === 0 ? 'a' : 'B', phase: 'announced' as const };
      await tx.deliveries.insert({ announcementKey: key, ...to, dueAt: at(20 - nth) });
    }
    for (let nth = 1; nth <= 102; nth++) {
      const mark = { at: at(nth), tree: 't', commit: 'c', place: nth, conversationId: `c${nth % 3}`, phaseIndex: 0 };
      await tx.turnMarks.save(S2, mark);
    }
    expect(await tx.clock.advance(at(0), 5_000)).toBe(await tx.clock.livedUntil());
  });
  const { viewed, projects, spending, turnMarks, announcements, deliveries } = store.read;
  return {
    viewed: Object.keys(await viewed.listOf(S2, 'Ada')),
    projects: await projects.list(),
    byPath: await projects.findByPath('/Äpfel'),
    spending: [await spending.list('2026-01-02', '2026-01-09'), await spending.sum({ stageId: S2 }, '2026-01-01')],
    marks: [await turnMarks.newestOf(S2), await turnMarks.newestBefore(S2, 50), await turnMarks.newestOf(S2, at(4))],
    conversations: await turnMarks.conversationsOf(S2),
    announcements: await announcements.listOpen(),
    deliveries: [await deliveries.listNext(), await deliveries.listTo('push', 'a', 3), await deliveries.listOf('k1')],
  };
}

/** PostgreSQL stores no NUL in a bare text, and UTF-8 has no halves of pairs. SQLite keeps the NUL, and replaces a half by three signs. */
const storable = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, part: unknown) => {
      if (typeof part === 'string')
        return part
          .replaceAll('\0', '\ufffd')
          .toWellFormed()
          .replaceAll(/\ufffd+/g, '\ufffd');
      return part instanceof Map ? [...part].toSorted() : part;
    }),
  );

describe.skipIf(postgresLack !== '')('SQLite and PostgreSQL', () => {
  it('answer the same after the same writes, whatever the texts', async () => {
    const [ofSqlite, ofPostgres] = [await answers('SQLite'), await answers('PostgreSQL')];
    expect(Object.keys(ofPostgres)).toEqual(Object.keys(ofSqlite));
    for (const [name, answer] of Object.entries(ofSqlite))
      expect(storable(ofPostgres[name]), name).toEqual(storable(answer));
  });
});
