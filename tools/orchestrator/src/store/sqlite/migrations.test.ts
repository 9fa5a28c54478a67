import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { RequestId } from '@callboard/contract';
import { sampleSession } from '@callboard/contract/samples';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { sampleProject, sampleStage, silent, stageId, tickingPlatform } from '../../../test/support/test-store.ts';
import { SessionRecord } from '../records.ts';
import { statementsFor } from '../sql/migration-statements.ts';
import { migrations } from '../sql/migrations.ts';
import { openSqliteStore } from './sqlite-store.ts';

const AT = '2026-01-01T10:00:00.000Z';
const REQUEST = RequestId.parse('request-1');

/** Creates a store with the migrations up to `version`, and one stage, S1. */
async function storeOfVersion(version: number): Promise<{ file: string; db: DatabaseSync }> {
  const file = join(await temporaryFolder(), 'store.sqlite');
  const db = new DatabaseSync(file);
  for (const migration of migrations.filter(({ id }) => id <= version)) {
    for (const statement of statementsFor('sqlite', migration)) db.exec(statement);
    db.exec(`pragma user_version = ${migration.id}`);
  }
  const { id: projectId, name, path, settings } = sampleProject();
  const project = db.prepare('insert into projects (id, name, path, settings, created_at) values (?, ?, ?, ?, ?)');
  project.run(projectId, name, path, JSON.stringify(settings), AT);
  const stage = sampleStage({ id: 'S1', title: 'Login', projectId });
  db.prepare('insert into stages (id, project_id, document) values (?, ?, ?)').run(
    'S1',
    projectId,
    JSON.stringify(stage),
  );
  return { file, db };
}

/** Creates a store from before decisions outlived their stage, with one open and one decided request. */
async function oldStore(): Promise<string> {
  const { file, db } = await storeOfVersion(3);
  const ofRequest = { stageId: 'S1', kind: 'approval', toolName: 'Bash', toolUseId: 'toolu_1' };
  const decision = {
    ...ofRequest,
    requestId: REQUEST,
    asked: 'Bash ls',
    outcome: 'allowed',
    by: 'Ada',
    at: AT,
    waitedMs: 5,
    reason: null,
    answers: null,
    updatedInput: null,
    delivery: 'unknown',
  };
  const request = {
    ...ofRequest,
    requestId: REQUEST,
    displayName: 'Bash',
    input: {},
    description: null,
    agent: null,
    reason: null,
    blockedPath: null,
    suggestions: [],
    suppressAlwaysAllow: false,
    createdAt: AT,
  };
  const insert = db.prepare(
    `insert into requests (stage_id, request_id, launch_id, state, kind, tool_name, document, decision, outcome, decided_by,
       created_at, decided_at) values ('S1', ?, 'launch-1', ?, 'approval', 'Bash', ?, ?, ?, ?, '${AT}', ?)`,
  );
  insert.run(REQUEST, 'unsettled', JSON.stringify(request), JSON.stringify(decision), 'allowed', 'Ada', AT);
  insert.run('request-2', 'open', JSON.stringify({ ...request, requestId: 'request-2' }), null, null, null, null);
  db.close();
  return file;
}

it('keeps requests and decisions, which then outlive their stage', async () => {
  const store = await openSqliteStore(await oldStore(), tickingPlatform(), silent);
  onTestFinished(store.close);
  const log = () => store.read.requests.decisions({ limit: 10 });
  expect((await store.read.requests.listOpen()).map(({ requestId }) => requestId)).toEqual(['request-2']);
  expect((await store.read.requests.listUnsettled()).map(({ requestId }) => requestId)).toEqual([REQUEST]);
  const before = (await log()).decisions;
  expect(before).toMatchObject([{ requestId: REQUEST, by: 'Ada', stageTitle: 'Login', isStageDeleted: false }]);
  const [stage] = await store.read.stages.list();
  if (stage === undefined) throw new Error('no stage');
  await store.transact(async (tx) => {
    await tx.requests.retainOf(stage);
    await tx.stages.remove(stage.id);
  });
  expect((await log()).decisions).toEqual([{ ...before[0], isStageDeleted: true }]);
  // Nobody can settle a decision without a session.
  expect(await store.read.requests.listUnsettled()).toEqual([]);
  expect(await store.read.requests.listOpen()).toEqual([]);
});

it('distinguishes decisions of a deleted stage from those of a later stage with its id', async () => {
  const store = await openSqliteStore(await oldStore(), tickingPlatform(), silent);
  onTestFinished(store.close);
  const [stage] = await store.read.stages.list();
  if (stage === undefined) throw new Error('no stage');
  await store.transact(async (tx) => {
    await tx.requests.retainOf(stage);
    await tx.stages.remove(stage.id);
    await tx.stages.insert({ ...stage, title: 'Another' });
  });
  const { decisions } = await store.read.requests.decisions({ limit: 10 });
  expect(decisions).toMatchObject([{ stageTitle: 'Login', isStageDeleted: true }]);
});

it('renames the phase of a stored session to launchState and leaves the rest unchanged', async () => {
  const { file, db } = await storeOfVersion(7);
  const session = sampleSession({ stageId: 'S1', costUsd: 0.1 });
  const rest = { transcriptLength: 2, turnRunning: false, blocks: { 'msg "1" é': 3 }, agents: {} };
  const before = SessionRecord.parse({ ...session, ...rest, launchState: 'live' });
  const { launchState, ...others } = before;
  const insert = db.prepare('insert into sessions (stage_id, state, document) values (?, ?, ?)');
  insert.run('S1', session.state, JSON.stringify({ ...others, phase: launchState }));
  db.close();
  const store = await openSqliteStore(file, tickingPlatform(), silent);
  onTestFinished(store.close);
  expect(await store.read.sessions.find(stageId('S1'))).toEqual(before);
  using migrated = new DatabaseSync(file, { readOnly: true });
  const [row] = migrated.prepare('select document from sessions').all();
  expect(JSON.parse(String(row?.document))).toEqual(before);
});

it('takes into the ledger what sessions had spent: turns and runs on their day, the rest on that of the last turn', async () => {
  const { file, db } = await storeOfVersion(26);
  const entry = db.prepare(`insert into transcript (stage_id, "index", document) values ('S1', ?, ?)`);
  const end = (index: number, at: string, costUsd: number | null) =>
    entry.run(index, JSON.stringify({ kind: 'turn-end', stageId: 'S1', index, at, costUsd }));
  entry.run(1, JSON.stringify({ kind: 'notice', at: '2026-01-02T12:00:00.000Z', costUsd: 9 }));
  end(2, '2026-01-02T12:00:00.000Z', 0.1);
  end(3, '2026-01-02T13:00:00.000Z', 0.2);
  end(4, '2026-01-03T12:00:00.000Z', null);
  end(5, '2026-01-04T12:00:00.000Z', 0.4);
  const run = JSON.stringify({ endedAt: '2026-01-03T12:00:00.000Z', costUsd: 0.05 });
  db.prepare(`insert into side_runs (id, stage_id, state, document) values ('run-1', 'S1', 'done', ?)`).run(run);
  const session = sampleSession({ stageId: 'S1', costUsd: 1 });
  const tokens = { input: 1, output: 20, cacheRead: 9_000, cacheCreation: 300 };
  const lastTurn = { outcome: 'succeeded', at: '2026-01-04T12:00:00.000Z', message: null, code: null };
  const document = JSON.stringify({ ...session, tokens, lastTurn });
  db.prepare('insert into sessions (stage_id, state, document) values (?, ?, ?)').run('S1', session.state, document);
  db.close();
  const store = await openSqliteStore(file, tickingPlatform(), silent);
  onTestFinished(store.close);
  const of = { stageId: 'S1', projectId: sampleProject().id };
  expect(await store.read.spending.list('0000', '9999')).toEqual([
    { day: '2026-01-02', ...of, usd: 0.3, tokens: 0 },
    { day: '2026-01-03', ...of, usd: 0.05, tokens: 0 },
    { day: '2026-01-04', ...of, usd: 0.65, tokens: 321 },
  ]);
});

it('counts what rules were used for, and lists rules without reading all uses on record', async () => {
  const { file, db } = await storeOfVersion(32);
  const rule = (ruleId: string) => ({
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
  });
  const insert = db.prepare(`insert into rules (id, project_id, document) values (?, 'shop', ?)`);
  for (const ruleId of ['a', 'b']) insert.run(ruleId, JSON.stringify(rule(ruleId)));
  const day = (n: string) => `'2026-01-0' || (${n} % 7 + 1) || 'T10:00:00.000Z'`;
  db.exec(`with recursive n(k) as (select 1 union all select k + 1 from n where k < 150000)
    insert into rule_uses (rule_id, stage_id, tool_use_id, asked, at, entry)
    select case k % 3 when 0 then 'a' else 'b' end, 'S1', 't-' || k, 'Bash npm test ' || (k % 6), ${day('k')}, k from n`);
  db.close();
  const store = await openSqliteStore(file, tickingPlatform(), silent);
  onTestFinished(store.close);
  const { rules } = store.read;
  const all = await rules.listAll(undefined);
  const used = await rules.withUse(all);
  const last = (count: number) => ({ lastUses: Array.from({ length: count }, () => expect.anything()) });
  expect(used).toMatchObject([
    { ruleId: 'a', uses: 50_000, lastUsedAt: '2026-01-07T10:00:00.000Z', ...last(5) },
    { ruleId: 'b', uses: 100_000, usedFor: [1, 2, 4, 5].map((n) => ({ asked: `Bash npm test ${n}`, count: 25_000 })) },
  ]);
  expect(used[0]?.lastUses.map(({ entry }) => entry)).toEqual([150_000, 149_997, 149_994, 149_991, 149_988]);
  const use = {
    ruleId: 'a',
    stageId: stageId('S1'),
    entry: 1,
    asked: 'Bash npm test 0',
    at: '2026-01-08T10:00:00.000Z',
  };
  for (const toolUseId of ['new', 'new', 't-3']) await store.transact((tx) => tx.rules.addUse({ ...use, toolUseId }));
  expect(await rules.withUse(all.slice(0, 1))).toMatchObject([{ uses: 50_001, lastUsedAt: use.at }]);
  expect(await rules.withUse([])).toEqual([]);
  const times: number[] = [];
  for (let nth = 0; nth < 5; nth += 1) {
    const from = performance.now();
    await rules.withUse(all);
    times.push(performance.now() - from);
  }
  expect(Math.min(...times)).toBeLessThan(25); // about 1 ms; ten times this if it reads all uses
});
