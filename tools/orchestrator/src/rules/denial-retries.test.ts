import { RequestId, type SendMessageReply, Stage, type StageId, type ToolInput } from '@callboard/contract';
import { AT } from '@callboard/contract/samples';
import { expect, it } from 'vitest';
import { busyTestSession, type Told } from '../../test/support/test-session.ts';
import { openTestStore } from '../../test/support/test-store.ts';
import { changeSession } from '../domain/change-session.ts';
import { updateDecision } from '../domain/requests.ts';
import type { Edges } from '../lib/edges.ts';
import { SessionRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { createDenialRetries } from './denial-retries.ts';

type Source = 'mode' | 'rule' | 'hook' | 'unknown';
const SENT = { status: 'sent', messageId: 'm' } as unknown as SendMessageReply;
const REQUEST = RequestId.parse('denied:t1');

const text = (n: number): Told => ({
  ...{ type: 'block', apiMessageId: `text-${n}`, parentToolUseId: null },
  block: { kind: 'text', text: `Word ${n}` },
});

async function rulesOf(store: Store, stageId: StageId, edges: Edges) {
  const stage = await store.read.stages.find(stageId);
  if (stage === null) throw new Error('no stage');
  return store.read.rules.listFor(stage.projectId, stageId, edges.now().toISOString());
}

async function setUp(toolName: string, input: ToolInput, source: Source = 'mode', agent: string | null = null) {
  const session = await busyTestSession({}, await openTestStore());
  const { store, edges, stageId } = session;
  const call: Told = {
    ...{ type: 'block', apiMessageId: 'm1', parentToolUseId: agent },
    block: { kind: 'tool-use', toolUseId: 't1', toolName, input },
  };
  const denial = { source, detail: source === 'mode' ? null : 'the detail' };
  await session.tell(call, { type: 'call-denied', toolUseId: 't1', toolName, reason: 'Denied.', denial });
  const sent: string[] = [];
  const steps: string[] = [];
  let killedAt = '';
  const step = async (name: string) => {
    if (killedAt === name) throw new Error('killed');
    steps.push(name);
  };
  const retries = createDenialRetries({
    ...{ store, edges, settle: () => step('settle'), requireResumable: () => step('resumable') },
    sendText: async (_tx, _stageId, text) => {
      await step('send');
      sent.push(text);
      return SENT;
    },
  });
  const retry = () => retries.retry(stageId, REQUEST, 'Ada');
  const kill = (at: string) => {
    killedAt = at;
  };
  const look = () => retries.look(stageId, REQUEST);
  return { ...session, retries, retry, sent, steps, kill, look, resume: retries.resume };
}

it.each([
  ['Bash', { command: 'npm test' }, ['Bash(npm test)']],
  ['Write', { file_path: '/w/a.txt', content: '' }, ['Edit(//w/a.txt)']],
  ['NotebookEdit', { notebook_path: '/w/a.ipynb' }, ['Edit(//w/a.ipynb)']],
  ['Read', { file_path: '/etc/hosts' }, ['Read(//etc/hosts)']],
  ['WebFetch', { url: 'https://example.org/a' }, ['WebFetch(domain:example.org)']],
  ['mcp__tracker__list', {}, ['mcp__tracker__list']],
])('allows exactly a denied call of %s', async (toolName, input, rules) => {
  const { look } = await setUp(toolName, input);
  expect(await look()).toEqual({ rules, whyNot: null });
});

it.each([
  ['Bash', { command: 'npm test > out' }],
  ['Write', { file_path: '/w/../etc/passwd', content: '' }],
  ['Write', { file_path: '/w/*.txt', content: '' }],
  ['Agent', {}],
])('says why it cannot for %s %o', async (toolName, input) => {
  const { look, retry, sent } = await setUp(toolName, input);
  expect(await look()).toMatchObject({ rules: [], whyNot: expect.stringContaining('No exact rule') });
  await expect(retry()).rejects.toMatchObject({ code: 'cannot_allow' });
  expect(sent).toEqual([]);
});

it.each([
  ['rule', 'Remove the detail from the settings'],
  ['hook', 'Change the hook the detail'],
  ['unknown', 'does not say what denied'],
] as const)('says what to do instead where a %s denied it', async (source, words) => {
  const { look, retry } = await setUp('Bash', { command: 'npm test' }, source);
  expect(await look()).toMatchObject({ rules: [], whyNot: expect.stringContaining(words) });
  await expect(retry()).rejects.toMatchObject({ code: 'cannot_allow' });
});

it('allows it for an hour, gives that to the session, and only then tells Claude; a second press does nothing', async () => {
  const { retry, sent, steps, store, edges, stageId } = await setUp('Bash', { command: 'npm test' });
  const { rules, message } = await retry();
  expect(message).toBe(SENT);
  expect(rules).toMatchObject([{ rule: 'Bash(npm test)', scope: 'stage', stageId, by: 'Ada' }]);
  const leftMs = Date.parse(rules[0]?.expiresAt ?? '') - edges.now().getTime();
  expect(leftMs).toBeGreaterThan(3_590_000);
  expect(leftMs).toBeLessThanOrEqual(3_600_000);
  expect(steps).toEqual(['resumable', 'settle', 'send']);
  expect(sent[0]).toContain('has now allowed exactly this call');
  expect(sent[0]).toContain('"command": "npm test"');
  await expect(retry()).rejects.toMatchObject({ code: 'already_settled' });
  expect(sent).toHaveLength(1);
  expect(await store.read.requests.findDecision(stageId, REQUEST)).toMatchObject({
    settlement: { how: 'retried', by: 'Ada' },
  });
});

it.each(['settle', 'send'])('goes on at the next start after a kill before "%s", and sends once', async (at) => {
  const { retry, resume, kill, sent, store, stageId, edges } = await setUp('Bash', { command: 'npm test' });
  kill(at);
  await expect(retry()).rejects.toThrow('killed');
  expect(sent).toEqual([]);
  expect((await store.read.requests.findDecision(stageId, REQUEST))?.settlement).toBeNull();
  await expect(resume()).rejects.toThrow('killed'); // and once more while it starts
  kill('');
  await resume();
  await resume();
  expect(sent).toHaveLength(1);
  await expect(retry()).rejects.toMatchObject({ code: 'already_settled' });
  const decision = await store.read.requests.findDecision(stageId, REQUEST);
  expect(decision).toMatchObject({ settlement: { how: 'retried', by: 'Ada' } });
  expect(await rulesOf(store, stageId, edges)).toHaveLength(1);
});

it('sends once where two people press at the same moment, or somebody presses again after a kill', async () => {
  const { retry, kill, sent, store, stageId, edges } = await setUp('Bash', { command: 'npm test' });
  kill('settle');
  await expect(retry()).rejects.toThrow('killed');
  kill('');
  const results = await Promise.allSettled([retry(), retry()]);
  expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect(results.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'already_settled' } });
  expect(sent).toHaveLength(1);
  expect(await rulesOf(store, stageId, edges)).toHaveLength(1);
  expect(await store.read.rules.listRetries()).toEqual([]);
});

it('stores nothing of a press that it refuses', async () => {
  const { retry, kill, store, stageId, edges } = await setUp('Bash', { command: 'npm test' });
  kill('resumable');
  await expect(retry()).rejects.toThrow('killed');
  expect(await store.read.rules.listRetries()).toEqual([]);
  expect(await rulesOf(store, stageId, edges)).toEqual([]);
});

it('finds a call that is far back, and names a subagent that made it', async () => {
  const { tell, look, retry, sent } = await setUp('Bash', { command: 'npm test' }, 'mode', 'agent-1');
  for (let n = 0; n < 1_200; n += 100) await tell(...Array.from({ length: 100 }, (_, m) => text(n + m)));
  expect(await look()).toEqual({ rules: ['Bash(npm test)'], whyNot: null });
  await retry();
  expect(sent[0]).toContain('The call that a subagent made of the tool Bash (tool use t1) was denied');
});

it.each([
  ['policySettings', 'managed settings of this machine: ask whoever manages them'],
  ['userSettings', 'Remove the detail from your own settings of Claude Code (~/.claude/settings.json)'],
  ['flagSettings', 'Callboard’s own and protects its files'],
])('says where a deny rule stands: %s', async (settings, words) => {
  const { look, store, stageId } = await setUp('Bash', { command: 'npm test' }, 'rule');
  await store.transact(async (tx) => {
    const decision = await tx.requests.findDecision(stageId, REQUEST);
    if (decision?.denial == null) throw new Error('no denial');
    await updateDecision(tx, { ...decision, denial: { ...decision.denial, settings } });
  });
  expect((await look()).whyNot).toContain(words);
});

it.each([
  ['the stage is done', { completedAt: AT }, {}, 'Reopen it'],
  ['the session is under alarm', {}, { alarm: { code: 'foreign-rule', detail: 'A rule.', at: AT } }, 'Acknowledge'],
  ['it goes on in a terminal', {}, { terminal: { by: 'Bo', since: AT, command: 'claude' } }, 'Bo continues this'],
])('says why not while %s', async (_, ofStage, ofSession, words) => {
  const { look, retry, store, stageId } = await setUp('Bash', { command: 'npm test' });
  await store.transact(async (tx) => {
    const stage = await tx.stages.find(stageId);
    if (stage !== null) await tx.stages.update(Stage.parse({ ...stage, ...ofStage }));
    await changeSession(tx, stageId, (change) => {
      change.record = SessionRecord.parse({ ...change.record, ...ofSession });
    });
  });
  expect(await look()).toMatchObject({ rules: [], whyNot: expect.stringContaining(words) });
  await expect(retry()).rejects.toMatchObject({ code: 'cannot_allow' });
});

it('refuses what Claude Code did not deny', async () => {
  const { retries, stageId } = await setUp('Bash', { command: 'npm test' });
  const other = retries.look(stageId, RequestId.parse('denied:t2'));
  await expect(other).rejects.toMatchObject({ code: 'unknown_request' });
});
