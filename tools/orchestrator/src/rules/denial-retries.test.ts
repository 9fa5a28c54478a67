import { RequestId, type SendMessageReply, type ToolInput } from '@callboard/contract';
import { expect, it } from 'vitest';
import { busyTestSession, type Told } from '../../test/support/test-session.ts';
import { openTestStore } from '../../test/support/test-store.ts';
import { findCall } from '../sessions/watch/active-rules.ts';
import { createDenialRetries } from './denial-retries.ts';

type Source = 'mode' | 'rule' | 'hook' | 'unknown';
const SENT = { status: 'sent', messageId: 'm' } as unknown as SendMessageReply;
const REQUEST = RequestId.parse('denied:t1');

async function setUp(toolName: string, input: ToolInput, source: Source = 'mode') {
  const session = await busyTestSession({}, await openTestStore());
  const { store, edges, stageId } = session;
  const call: Told = {
    ...{ type: 'block', apiMessageId: 'm1', parentToolUseId: null },
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
    findCall: (of, toolUseId) => findCall(store, of, toolUseId),
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
  return { ...session, retries, retry, sent, steps, kill, look: () => retries.look(stageId, REQUEST) };
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

it.each(['settle', 'send'])('goes on with a second press after a kill before "%s", and sends once', async (at) => {
  const { retry, kill, sent, store, stageId, edges } = await setUp('Bash', { command: 'npm test' });
  kill(at);
  await expect(retry()).rejects.toThrow('killed');
  expect(sent).toEqual([]);
  expect((await store.read.requests.findDecision(stageId, REQUEST))?.settlement).toBeNull();
  kill('');
  await retry();
  expect(sent).toHaveLength(1);
  const stage = await store.read.stages.find(stageId);
  if (stage === null) throw new Error('no stage');
  expect(await store.read.rules.listFor(stage.projectId, stageId, edges.now().toISOString())).toHaveLength(1);
});

it('refuses what Claude Code did not deny', async () => {
  const { retries, stageId } = await setUp('Bash', { command: 'npm test' });
  const other = retries.look(stageId, RequestId.parse('denied:t2'));
  await expect(other).rejects.toMatchObject({ code: 'unknown_request' });
});
