import { DatabaseSync } from 'node:sqlite';
import { ProjectId, type RequestId } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { addAnswered, answerAll, DENIED, times } from '../../../test/support/answered-calls.ts';
import { busyTestSession, type Reported } from '../../../test/support/test-session.ts';
import { openTestStore } from '../../../test/support/test-store.ts';
import { createRules } from './rules.ts';

const projectId = ProjectId.parse('shop');
const shop = { projectId };

async function setUp() {
  const test = await openTestStore();
  const { store, platform } = test;
  const rules = createRules({ store, platform, settle: () => Promise.resolve() });
  const stageId = await test.addStage();
  const offerFor = async (requestId: RequestId) => (await rules.offer({ stageId, requestId })).offer;
  return { ...test, rules, stageId, offerFor };
}

/** Repeats all requests, under other ids. */
function copyRequests(file: string, copies: number): void {
  const db = new DatabaseSync(file);
  const columns = 'launch_id, state, kind, tool_name, document, decision, outcome, decided_by, created_at, decided_at';
  db.exec(`with recursive n(k) as (select 1 union all select k + 1 from n where k < ${copies})
    insert into requests (stage_id, request_id, ${columns})
    select stage_id, request_id || '-' || k, ${columns} from requests, n`);
  db.close();
}

describe('a rule from habit', () => {
  it('is offered after the third same answer, with what was allowed', async () => {
    const { store, stageId, offerFor } = await setUp();
    expect(await offerFor(await answerAll(store, stageId, ...times(2, 'npm test')))).toBeNull();
    const third = await answerAll(store, stageId, ...times(1, 'npm test'));
    expect(await offerFor(third)).toEqual({ projectId, stageId, rules: ['Bash(npm test)'], times: 3 });
  });

  it('counts the parts of compound commands, in all stages of the project', async () => {
    const { store, stageId, addStage, offerFor } = await setUp();
    const other = await addStage();
    await answerAll(store, other, { asked: 'npm run lint && npm test' }, { asked: 'npm test; npm run lint' });
    const last = await answerAll(store, stageId, { asked: 'npm run lint' }, { asked: 'ls && npm test' });
    expect(await offerFor(last)).toMatchObject({ rules: ['Bash(npm test)'], times: 3 });
    const both = await answerAll(store, stageId, { asked: 'npm test && npm run lint' });
    expect(await offerFor(both)).toMatchObject({ rules: ['Bash(npm test)', 'Bash(npm run lint)'], times: 4 });
  });

  it.each([
    ['was denied since', 'npm test', DENIED],
    ['was changed', 'npm test', { updatedInput: { command: 'npm test -- a' } }],
    ['came too late', 'npm test', { delivery: 'not-applied' }],
    ['timed out', 'npm test', { outcome: 'timed-out', by: null }],
    ['leaves the sandbox', { input: { command: 'npm test' }, leavesSandbox: { reason: null } }, {}],
    ['must not be a rule', { input: { command: 'npm test' }, suppressAlwaysAllow: true }, {}],
    ['reaches a path outside', { input: { command: 'npm test' }, blockedPath: '/etc' }, {}],
    ['was asked for by a hook', { input: { command: 'npm test' }, suggestions: [] }, {}],
  ])('does not count a call that %s', async (_, asked, decision) => {
    const { store, stageId, offerFor } = await setUp();
    await answerAll(store, stageId, ...times(1, 'npm test'), { asked, decision }, { asked, decision });
    const next = await answerAll(store, stageId, ...times(1, 'npm test'));
    expect(await offerFor(next)).toBeNull();
    if (typeof asked !== 'string')
      expect(await offerFor(await answerAll(store, stageId, ...times(4, asked)))).toBeNull();
  });

  it('is not offered where a rule covers it already', async () => {
    const { store, rules, stageId, offerFor, platform } = await setUp();
    const last = await answerAll(store, stageId, ...times(3, 'npm test'));
    const expiresAt = new Date(platform.now().getTime() + 1_000).toISOString();
    await rules.add({ rule: 'Bash(npm *)', scope: { stageId }, expiresAt }, 'Ada');
    expect(await offerFor(last)).toBeNull();
    const [rule] = (await rules.list(projectId)).rules;
    await rules.remove(rule?.ruleId ?? '', 'Ada');
    expect(await offerFor(last)).not.toBeNull();
  });

  it('stays away once it was put away, until ten more of the same answers', async () => {
    const { store, rules, stageId, offerFor } = await setUp();
    const last = await answerAll(store, stageId, ...times(3, 'npm test'));
    await rules.dismiss({ projectId, rules: ['Bash(npm test)'] });
    expect(await offerFor(last)).toBeNull();
    expect(await offerFor(await answerAll(store, stageId, ...times(9, 'npm test')))).toBeNull();
    expect(await offerFor(await answerAll(store, stageId, ...times(1, 'npm test')))).toMatchObject({ times: 13 });
  });

  it('is offered for a site and for a tool of a server', async () => {
    const { store, stageId, offerFor } = await setUp();
    const page = (url: string) => ({ toolName: 'WebFetch', input: { url, prompt: 'Read' } });
    const asked = ['https://example.org/a', 'https://example.org/b', 'https://example.org/c'].map(page);
    const last = await answerAll(store, stageId, ...asked.map((one) => ({ asked: one })));
    expect(await offerFor(last)).toMatchObject({ rules: ['WebFetch(domain:example.org)'] });
    const tool = { toolName: 'mcp__tracker__list', input: {} };
    expect(await offerFor(await answerAll(store, stageId, ...times(3, tool)))).toMatchObject({
      rules: ['mcp__tracker__list'],
    });
  });
});

describe('a rehearsal', () => {
  it('tells what the rule would have answered, how long that took, and what it would have let through', async () => {
    const { store, rules, stageId, addStage } = await setUp();
    const other = await addStage({ title: 'Docs' });
    await answerAll(store, stageId, ...times(4, 'npm test'), { asked: 'npm test 2>&1' }, { asked: 'npm test > out' });
    await answerAll(store, stageId, { asked: 'npm test && rm -rf x' }, { asked: 'git push' });
    await answerAll(store, stageId, { asked: { input: { command: 'npm test' }, suppressAlwaysAllow: true } });
    const denied = await answerAll(store, other, { asked: 'npm test', decision: { ...DENIED, waitedMs: 500 } });
    const result = await rules.dryRun({ rule: 'Bash(npm test)', scope: shop });
    expect(result).toEqual({
      waits: 10,
      answered: 6,
      waitedMs: 5_500,
      unsure: 1,
      denied: 1,
      since: null,
      wouldAllowDenied: [
        expect.objectContaining({
          stageId: other,
          requestId: denied,
          stageTitle: 'Docs',
          by: 'Ada',
          reason: 'Not now',
        }),
      ],
    });
    const here = await rules.dryRun({ rule: 'Bash(npm test)', scope: { stageId } });
    expect(here).toMatchObject({ waits: 9, answered: 5, denied: 0 });
  });

  it('counts a compound command only together with the rules for its other parts', async () => {
    const { store, rules, stageId } = await setUp();
    await answerAll(store, stageId, ...times(3, 'npm run lint && npm test'));
    const of = { rule: 'Bash(npm test)', scope: shop };
    expect(await rules.dryRun(of)).toMatchObject({ answered: 0, unsure: 3 });
    expect(await rules.dryRun({ ...of, along: ['Bash(npm run lint)'] })).toMatchObject({ answered: 3, unsure: 0 });
    await rules.add({ rule: 'Bash(npm run *)', scope: shop }, 'Ada');
    expect(await rules.dryRun(of)).toMatchObject({ answered: 3, unsure: 0 });
  });

  it('counts edits below the worktree of their stage, and reads outside, that a rule about files covers', async () => {
    const { store, rules, stageId } = await setUp();
    const path = '/w/shop';
    await store.transact(async (tx) => {
      const stage = await tx.stages.find(stageId);
      if (stage !== null) await tx.stages.update({ ...stage, worktree: { path, branch: 'b', base: 'c' } });
    });
    const file = (toolName: string, file_path: string, more = {}) => ({
      asked: { toolName, input: { file_path, content: 'x' }, ...more },
    });
    const outside = { blockedPath: '/srv/notes.md' };
    await answerAll(store, stageId, file('Write', `${path}/src/a.ts`), file('Edit', `${path}/src/deep/b.ts`));
    await answerAll(store, stageId, file('Write', `${path}/docs/a.md`), file('Write', `${path}/src/.git/x`));
    await answerAll(store, stageId, file('Read', '/srv/notes.md', outside));
    const of = (rule: string) => rules.dryRun({ rule, scope: shop });
    expect(await of('Edit(src/**)')).toMatchObject({ waits: 5, answered: 2, unsure: 1 });
    expect(await of(`Edit(/${path}/docs/a.md)`)).toMatchObject({ answered: 1, unsure: 0 });
    expect(await of('Read(//srv/**)')).toMatchObject({ answered: 1, unsure: 0 });
    expect(await of('Edit(~/**)')).toMatchObject({ answered: 0, unsure: 4 });
  });

  it('reads a long log and lets others work meanwhile', async () => {
    const { store, rules, stageId, file } = await setUp();
    await store.transact(async (tx) => {
      for (let n = 0; n < 200; n++)
        await addAnswered(tx, { stageId, asked: n % 4 === 0 ? 'npm test' : `git show ${n}` });
    });
    copyRequests(file, 99);
    let longest = 0;
    // Of the processor's time: a busy machine lets this process wait.
    const usedMs = () => process.cpuUsage().user / 1_000;
    let last = usedMs();
    const timer = setInterval(() => {
      longest = Math.max(longest, usedMs() - last);
      last = usedMs();
    }, 1);
    const result = await rules.dryRun({ rule: 'Bash(npm test)', scope: shop });
    clearInterval(timer);
    expect(result).toMatchObject({ waits: 20_000, answered: 5_000 });
    expect(longest).toBeLessThan(1_000); // about 20 ms on an idle machine
  });
});

describe('a granted rule', () => {
  it('ends when it is removed or its end date comes, and stays listed as ended', async () => {
    const { store, rules, platform, stageId, events } = await setUp();
    const soon = new Date(platform.now().getTime() + 1_000).toISOString();
    const lasting = await rules.add({ rule: 'Bash(npm test)', scope: shop }, 'Ada');
    const ending = await rules.add({ rule: 'Bash(make)', scope: { stageId }, expiresAt: soon }, 'Ada');
    const at = (ms: number) => new Date(Date.parse(soon) + ms).toISOString();
    const valid = async (instant: string) =>
      (await store.read.rules.listFor(projectId, stageId, instant)).map(({ rule }) => rule).toSorted();
    expect(await valid(at(-1))).toEqual(['Bash(make)', 'Bash(npm test)']);
    expect(await valid(at(0))).toEqual(['Bash(npm test)']);
    expect(await rules.remove(lasting.ruleId, 'Bo')).toMatchObject({ endedBy: 'Bo' });
    await expect(rules.remove(lasting.ruleId, 'Bo')).rejects.toMatchObject({ code: 'unknown_rule' });
    expect(await rules.list(undefined)).toMatchObject({
      rules: [{ ruleId: ending.ruleId }],
      ended: [{ ruleId: lasting.ruleId, endedBy: 'Bo' }],
    });
    const reported = events.flatMap((event) => (event.type === 'rules-updated' ? [event.data.rules.length] : []));
    expect(reported).toEqual([1, 2, 1]);
  });

  it('gets the new end date when it is granted again', async () => {
    const { rules, platform } = await setUp();
    const expiresAt = new Date(platform.now().getTime() + 60_000).toISOString();
    const first = await rules.add({ rule: 'Bash(npm test)', scope: shop }, 'Ada');
    expect(await rules.add({ rule: 'Bash(npm test)', scope: shop, expiresAt }, 'Bo')).toEqual({ ...first, expiresAt });
    expect((await rules.list(projectId)).rules).toHaveLength(1);
    const past = rules.add({ rule: 'Bash(a)', scope: shop, expiresAt: '2020-01-01T00:00:00.000Z' }, 'Ada');
    await expect(past).rejects.toMatchObject({ code: 'bad_request' });
  });

  it('is listed with how often it was used and what for; each call counts once', async () => {
    const test = await openTestStore();
    const session = await busyTestSession({}, test);
    const { store, platform } = test;
    const rules = createRules({ store, platform, settle: () => Promise.resolve() });
    const { ruleId } = await rules.add({ rule: 'Bash(npm test)', scope: shop }, 'Ada');
    await rules.add({ rule: 'Bash(git *)', scope: shop }, 'Ada');
    const call = (toolUseId: string, command: string): Reported => ({
      type: 'block',
      apiMessageId: `m-${toolUseId}`,
      parentToolUseId: null,
      block: { kind: 'tool-use', toolUseId, toolName: 'Bash', input: { command } },
    });
    const ran = (toolUseId: string, ranBy: 'parts' | 'person'): Reported => ({
      type: 'tool-result',
      parentToolUseId: null,
      toolUseId,
      isError: false,
      text: '',
      allowedBy: null,
      sandboxFailure: null,
      ranBy,
    });
    await session.emit(call('t1', 'npm test'), ran('t1', 'parts'), ran('t1', 'parts'));
    await session.emit(call('t2', 'npm test'));
    await session.emit(ran('t2', 'parts'), call('t3', 'npm test'), ran('t3', 'person'));
    await session.emit(call('t4', 'ls && npm test 2>&1'), ran('t4', 'parts'), call('t5', 'ls'), ran('t5', 'parts'));
    const [used, unused] = (await rules.list(projectId)).rules;
    expect(used).toMatchObject({ ruleId, uses: 3, usedFor: [{ asked: 'Bash npm test', count: 2 }, { count: 1 }] });
    expect(used?.lastUsedAt).not.toBeNull();
    expect(used?.lastUses.map(({ asked }) => asked)).toEqual([
      'Bash ls && npm test 2>&1',
      'Bash npm test',
      'Bash npm test',
    ]);
    const [last] = used?.lastUses ?? [];
    const entries = await session.transcript();
    expect(entries.find(({ index }) => index === last?.entry)).toMatchObject({ kind: 'tool-use', toolUseId: 't4' });
    expect(unused).toMatchObject({ uses: 0, lastUsedAt: null, usedFor: [], lastUses: [] });
  });
});
