import { RequestId, Stage } from '@callboard/contract';
import { AT } from '@callboard/contract/samples';
import { expect, it } from 'vitest';
import { denyCall, REQUEST, rulesOf } from '../../../test/support/denied-call.ts';
import type { Reported } from '../../../test/support/test-session.ts';
import { changeSession } from '../../core/session/change-session.ts';
import { updateDecision } from '../../core/session/requests.ts';
import { SessionRecord } from '../../store/records.ts';

const text = (n: number): Reported => ({
  type: 'block',
  apiMessageId: `text-${n}`,
  parentToolUseId: null,
  block: { kind: 'text', text: `Word ${n}` },
});

it.each([
  ['Bash', { command: 'npm test' }, ['Bash(npm test)']],
  ['Write', { file_path: '/w/a.txt', content: '' }, ['Edit(//w/a.txt)']],
  ['NotebookEdit', { notebook_path: '/w/a.ipynb' }, ['Edit(//w/a.ipynb)']],
  ['Read', { file_path: '/etc/hosts' }, ['Read(//etc/hosts)']],
  ['Write', { file_path: '/w/my file.txt', content: '' }, ['Edit(//w/my file.txt)']],
  ['Edit', { file_path: '/w/für.md', old_string: 'a', new_string: 'b' }, ['Edit(//w/für.md)']],
  ['WebFetch', { url: 'https://example.org/a' }, ['WebFetch(domain:example.org)']],
  ['mcp__tracker__list', {}, ['mcp__tracker__list']],
])('allows exactly a denied call of %s', async (toolName, input, rules) => {
  const { check } = await denyCall(toolName, input);
  expect(await check()).toEqual({ rules, whyNot: null });
});

it.each([
  ['Bash', { command: 'npm test > out' }, 'it has a redirection'],
  ['Write', { file_path: '/w/../etc/passwd', content: '' }, 'its path is not absolute'],
  ['Write', { file_path: '/w/*.txt', content: '' }, 'such as * or ['],
  ['Write', { file_path: '/w/app/[id]/page.tsx', content: '' }, 'such as * or ['],
  ['Write', { file_path: '/w/ends with a space ', content: '' }, 'this file'],
  ['Agent', {}, 'this call of Agent'],
])('says why it cannot for %s %o', async (toolName, input, text) => {
  const { check, retry, sent } = await denyCall(toolName, input);
  const { rules, whyNot } = await check();
  expect(rules).toEqual([]);
  expect(whyNot).toMatch(/^No exact rule covers this/);
  expect(whyNot).toContain(text);
  if (toolName !== 'Bash') expect(whyNot).not.toContain('redirection');
  await expect(retry()).rejects.toMatchObject({ code: 'cannot_allow' });
  expect(sent).toEqual([]);
});

it.each([
  ['rule', 'Remove the detail from the settings'],
  ['hook', 'Change the hook the detail'],
  ['unknown', 'does not say what denied'],
] as const)('says what to do instead where a %s denied it', async (source, text) => {
  const { check, retry } = await denyCall('Bash', { command: 'npm test' }, { source });
  expect(await check()).toMatchObject({ rules: [], whyNot: expect.stringContaining(text) });
  await expect(retry()).rejects.toMatchObject({ code: 'cannot_allow' });
});

it('allows it for an hour, gives that to the session, and only then tells Claude; a second press does nothing', async () => {
  const { retry, sent, steps, store, platform, stageId } = await denyCall('Bash', { command: 'npm test' });
  const { rules, message } = await retry();
  expect(message).toMatchObject({ status: 'sent' });
  expect(rules).toMatchObject([{ rule: 'Bash(npm test)', scope: 'stage', stageId, by: 'Ada' }]);
  const leftMs = Date.parse(rules[0]?.expiresAt ?? '') - platform.now().getTime();
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

it('stores nothing of a press that it refuses', async () => {
  const { retry, kill, store, stageId, platform } = await denyCall('Bash', { command: 'npm test' });
  kill('resumable');
  await expect(retry()).rejects.toThrow('killed');
  expect(await store.read.rules.listRetries()).toEqual([]);
  expect(await rulesOf({ store, stageId, platform })).toEqual([]);
});

it('finds a call that is far back, and names a subagent that made it', async () => {
  const { emit, check, retry, sent } = await denyCall('Bash', { command: 'npm test' }, { agent: 'agent-1' });
  for (let n = 0; n < 1_200; n += 100) await emit(...Array.from({ length: 100 }, (_, m) => text(n + m)));
  expect(await check()).toEqual({ rules: ['Bash(npm test)'], whyNot: null });
  await retry();
  expect(sent[0]).toContain('The call that a subagent made of the tool Bash (tool use t1) was denied');
});

it.each([
  ['policySettings', 'managed settings of this machine: ask whoever manages them'],
  ['userSettings', 'Remove the detail from your own settings of Claude Code (~/.claude/settings.json)'],
  ['flagSettings', 'Callboard’s own and protects its files'],
])('says where a deny rule stands: %s', async (settings, text) => {
  const { check, store, stageId } = await denyCall('Bash', { command: 'npm test' }, { source: 'rule' });
  await store.transact(async (tx) => {
    const decision = await tx.requests.findDecision(stageId, REQUEST);
    if (decision?.denial == null) throw new Error('no denial');
    await updateDecision(tx, { ...decision, denial: { ...decision.denial, settings } });
  });
  expect((await check()).whyNot).toContain(text);
});

it.each([
  ['the stage is done', { completedAt: AT }, {}, 'Reopen it'],
  ['the session is under alarm', {}, { alarm: { code: 'foreign-rule', detail: 'A rule.', at: AT } }, 'Acknowledge'],
  ['it goes on in a terminal', {}, { terminal: { by: 'Bo', since: AT, command: 'claude' } }, 'Bo continues this'],
])('says why not while %s', async (_, ofStage, ofSession, text) => {
  const { check, retry, store, stageId } = await denyCall('Bash', { command: 'npm test' });
  await store.transact(async (tx) => {
    const stage = await tx.stages.find(stageId);
    if (stage !== null) await tx.stages.update(Stage.parse({ ...stage, ...ofStage }));
    await changeSession(tx, stageId, (change) => {
      change.record = SessionRecord.parse({ ...change.record, ...ofSession });
    });
  });
  expect(await check()).toMatchObject({ rules: [], whyNot: expect.stringContaining(text) });
  await expect(retry()).rejects.toMatchObject({ code: 'cannot_allow' });
});

it('refuses what Claude Code did not deny', async () => {
  const { retries, stageId } = await denyCall('Bash', { command: 'npm test' });
  const other = retries.check(stageId, RequestId.parse('denied:t2'));
  await expect(other).rejects.toMatchObject({ code: 'unknown_request' });
});
