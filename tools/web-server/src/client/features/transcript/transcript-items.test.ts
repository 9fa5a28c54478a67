import { expect, it } from 'vitest';
import { decision, entry, request } from '../../test/samples.ts';
import { callProgress, doneElsewhere, lineChanges, toolOutcome } from './tool-card.tsx';
import { countSteps, inputOf, itemKey, itemKeys, type ToolItem, transcriptItems } from './transcript-items.ts';

const use = (index: number, toolUseId: string, toolName = 'Bash', input = {}) =>
  entry(index, 'tool-use', { toolUseId, toolName, input });
/** A call by the subagent that the call `agent` started. */
const innerUse = (index: number, toolUseId: string, toolName = 'Bash') =>
  entry(index, 'tool-use', { toolUseId, toolName, input: {} }, 'agent');
const result = (index: number, toolUseId: string, isError = false) =>
  entry(index, 'tool-result', { toolUseId, isError, text: '', allowedBy: null, sandboxFailure: null });
const text = (index: number, parent: string | null = null) =>
  entry(index, 'text', { text: 't', blockId: `b${index}` }, parent);

it('shows a tool call with its result and its decision as one', () => {
  const allowed = decision(request('STAGE-1', 'x'));
  const items = transcriptItems([use(1, 'tool-x'), entry(2, 'decision', { decision: allowed }), result(3, 'tool-x')]);
  expect(items).toHaveLength(1);
  expect(items[0]).toMatchObject({ kind: 'tool', decisions: [allowed], result: { index: 3 } });
});

it.each([
  [
    'the end of its turn',
    entry(3, 'turn-end', { outcome: 'interrupted', message: null, durationMs: 1, costUsd: 0 }),
    false,
  ],
  ['the end of its process', entry(3, 'notice', { level: 'warning', code: 'process-ended', text: 'Killed.' }), true],
  ['something else', entry(3, 'notice', { level: 'info', code: 'phase', text: 'Build begins.' }), null],
])('marks a call without a result as cut off by %s, if it was', (_, ending, alsoInner) => {
  const [agent, after] = transcriptItems([use(1, 'agent', 'Task'), innerUse(2, 'inner'), ending, use(4, 'new')]);
  expect(agent).toMatchObject({ isCutOff: alsoInner !== null, children: [{ isCutOff: alsoInner === true }] });
  expect(after).not.toMatchObject({ isCutOff: true });
  const [reported] = transcriptItems([use(1, 'x'), result(2, 'x'), ending]);
  expect(reported).toMatchObject({ isCutOff: false });
});

it('puts a subagent’s steps under its call', () => {
  const [agent, after] = transcriptItems([
    use(1, 'agent', 'Task'),
    text(2, 'agent'),
    innerUse(3, 'inner', 'Grep'),
    text(4),
  ]);
  expect((agent as ToolItem).children).toHaveLength(2);
  expect(after).toMatchObject({ kind: 'entry', entry: { index: 4 } });
});

it('folds consecutive lookups, except a failed one', () => {
  const lookups = (last: boolean) =>
    ['a', 'b', 'c'].flatMap((id, i) => [use(i * 2 + 1, id, 'Read'), result(i * 2 + 2, id, last && id === 'c')]);
  expect(transcriptItems(lookups(false)).map((item) => item.kind)).toEqual(['lookups']);
  expect(transcriptItems(lookups(true)).map((item) => item.kind)).toEqual(['lookups', 'tool']);
});

it('shows results and decisions without their call as items of their own', () => {
  const lone = entry(6, 'decision', { decision: decision(request('STAGE-1', 'gone')) });
  expect(transcriptItems([result(5, 'gone'), lone]).map((item) => item.kind)).toEqual(['entry', 'entry']);
});

it('says in a word how a call ended', () => {
  const [edit] = transcriptItems([use(1, 'e', 'Edit', { old_string: 'a\nb', new_string: 'a\nc\nd' }), result(2, 'e')]);
  expect(lineChanges(edit as ToolItem)).toEqual({ added: 2, removed: 1 });
  const denied = decision(request('STAGE-1', 'x'), { outcome: 'denied' });
  const [call] = transcriptItems([
    use(1, 'tool-x'),
    entry(2, 'decision', { decision: denied }),
    result(3, 'tool-x', true),
  ]);
  expect(toolOutcome(call as ToolItem)).toBe('denied');
});

it('keeps the keys of existing items when earlier entries are loaded', () => {
  const earlier = [use(1, 'agent', 'Task'), use(2, 'a', 'Read'), result(3, 'a'), use(4, 'run')];
  const later = [result(5, 'run'), innerUse(6, 'inner'), use(7, 'b', 'Bash'), text(8)];
  const before = itemKeys(transcriptItems(later));
  const after = itemKeys(transcriptItems([...earlier, ...later]));
  expect(after.filter((key) => before.includes(key)).toSorted()).toEqual(before.toSorted());
});

it('gives each item a unique key', () => {
  const keys = itemKeys(transcriptItems([result(1, 'gone'), result(2, 'gone'), text(3), text(3)]));
  expect(new Set(keys).size).toBe(keys.length);
});

it('counts the steps of a subagent, folded ones included, and shows them without their call', () => {
  const inner = ['a', 'b'].flatMap((id, i) => [innerUse(i * 2 + 2, id, 'Read'), result(i * 2 + 3, id)]);
  const steps = [...inner, innerUse(9, 'c'), text(10, 'agent')];
  const [agent] = transcriptItems([use(1, 'agent', 'Agent'), ...steps]) as [ToolItem];
  expect(agent.children.map((item) => item.kind)).toEqual(['lookups', 'tool', 'entry']);
  expect(countSteps(agent.children)).toBe(3);
  const [alone] = transcriptItems(steps);
  expect(alone).toMatchObject({ kind: 'steps', toolUseId: 'agent' });
  expect(alone && itemKey(alone)).toBe(itemKey(agent));
});

it('takes what a hook made of a call as its input, and tells who changed it', () => {
  const changedCall = { toolUseId: 'x', input: { command: 'b' }, hook: 'rewrite.sh' };
  const notice = entry(3, 'notice', { level: 'warning', code: 'input-changed', text: 'Changed.', changedCall });
  const [item, ...others] = transcriptItems([use(1, 'x', 'Bash', { command: 'a' }), result(2, 'x'), notice]);
  expect(others).toEqual([]);
  if (item?.kind !== 'tool') throw new Error('there is no call');
  expect(inputOf(item)).toEqual({ command: 'b' });
  expect(doneElsewhere(item)).toBe('changed by a hook');
  expect(transcriptItems([notice])).toMatchObject([{ kind: 'entry' }]);
});

it('shows a call that a hook deferred as deferred, not as one that runs or was cut off', () => {
  const denial = { source: 'hook', detail: null, isDeferred: true } as const;
  const deferred = decision(request('STAGE-1', 'x'), { outcome: 'denied', denial });
  const ended = entry(3, 'turn-end', { outcome: 'succeeded', message: null, durationMs: 1, costUsd: 0 });
  const [item] = transcriptItems([use(1, 'tool-x'), entry(2, 'decision', { decision: deferred }), ended]);
  if (item?.kind !== 'tool') throw new Error('there is no call');
  expect(callProgress(item, () => undefined)).toBe('deferred by a hook');
});
