import { Decision, PermissionRule, StageId, TranscriptEntry } from '@callboard/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { receiptMarkdown, receiptOf } from './receipts.ts';

const stageId = StageId.parse('STAGE-1');
const stage = { id: stageId, title: 'Login form', worktree: null };
const at = (n: number) => new Date(Date.parse('2026-01-01T10:00:00Z') + n * 1_000).toISOString();

/** A transcript from short notes of its entries. */
const transcript = (...entries: object[]) =>
  entries.map((entry, n) =>
    TranscriptEntry.parse({ stageId, index: n + 1, at: at(n), parentToolUseId: null, ...entry }),
  );
const user = (text = 'Go', by = 'ada') => ({ kind: 'user', text, messageId: null, by });
const use = (toolUseId: string, more = {}) => ({
  kind: 'tool-use',
  toolUseId,
  toolName: 'Bash',
  input: { command: `npm ${toolUseId}` },
  ...more,
});
const result = (toolUseId: string, more = {}) => ({
  kind: 'tool-result',
  toolUseId,
  isError: false,
  text: '',
  ...more,
});
const end = { kind: 'turn-end', outcome: 'succeeded', message: null, durationMs: null, costUsd: null };
const decision = (toolUseId: string, more: object = {}) =>
  Decision.parse({
    stageId,
    requestId: `r-${toolUseId}`,
    kind: 'approval',
    toolName: 'Bash',
    asked: `Bash npm ${toolUseId}`,
    toolUseId,
    outcome: 'allowed',
    by: 'ada',
    at: at(1),
    waitedMs: 5,
    reason: null,
    answers: null,
    updatedInput: null,
    delivery: 'confirmed',
    ...more,
  });
const make = (entries: TranscriptEntry[], decisions: Decision[] = [], rules: PermissionRule[] = []) =>
  receiptOf({ stage, entries, decisions, rules });

it('says of every call why it ran or did not, turn by turn', () => {
  const rule = PermissionRule.parse({
    ruleId: '1',
    scope: 'project',
    projectId: 'shop',
    stageId: null,
    kind: 'allow',
    rule: 'Bash(npm c*)',
    by: 'bob',
    createdAt: at(0),
  });
  const byClaude = { by: 'Claude Code', outcome: 'denied', denial: { source: 'mode', detail: 'dontAsk' } };
  const receipt = make(
    transcript(
      user('Build it'),
      ...[use('a'), result('a', { ranBy: 'person' }), use('b'), result('b', { isError: true })],
      ...[use('c'), result('c', { ranBy: 'rule' }), use('d'), result('d', { ranBy: 'hook' }), end],
      ...[user('More', 'bob'), use('e'), result('e', { ranBy: 'mode' }), use('f'), result('f', { ranBy: 'other' })],
      ...[use('cp'), result('cp', { ranBy: 'parts' }), use('k'), result('k', { ranBy: 'parts' })],
      ...[use('g'), result('g', { isError: true }), use('h'), use('i'), result('i'), end],
      ...[use('j'), result('j', { ranBy: 'classifier' })],
    ),
    [
      decision('a'),
      decision('b', { outcome: 'denied', reason: 'not now' }),
      decision('g', byClaude),
      decision('h', { outcome: 'closed', by: null, reason: 'its process ended' }),
      decision('x', { toolUseId: '', kind: 'network', asked: 'npmjs.org', requestId: 'net' }),
    ],
    [rule],
  );
  expect(receipt.turns.map(({ number, message, by, calls }) => [number, message, by, calls.length])).toEqual([
    [1, 'Build it', 'ada', 4],
    [2, 'More', 'bob', 7],
    [3, null, null, 1],
  ]);
  expect(
    receipt.turns.flatMap(({ calls }) =>
      calls.map(({ toolUseId, reason, by, detail }) => [toolUseId, reason, by, detail]),
    ),
  ).toEqual([
    ['a', 'person', 'ada', null],
    ['b', 'denied-by-person', 'ada', 'not now'],
    ['c', 'rule', 'bob', 'Bash(npm c*)'],
    ['d', 'hook', null, null],
    ['e', 'mode', null, null],
    ['f', 'claude-code', null, null],
    ['cp', 'rule', 'bob', 'Bash(npm c*)'],
    ['k', 'claude-code', null, 'each part by a rule, or because it only reads'],
    ['g', 'denied-by-claude-code', null, 'mode: dontAsk'],
    ['h', 'not-run', null, 'its process ended'],
    ['i', 'no-record', null, null],
    ['j', 'classifier', null, null],
  ]);
  expect(receipt.others).toMatchObject([{ kind: 'network', asked: 'npmjs.org', by: 'ada' }]);
  expect(receipt.gaps).toEqual(['Turn 2: 1 tool call has no record of what let it run.']);
});

it('names lost output as a gap, and decisions whose call the transcript lacks', () => {
  const lost = { kind: 'notice', level: 'error', code: 'output-lost', text: 'A gap' };
  const receipt = make(transcript(user(), lost), [decision('gone')]);
  expect(receipt).toMatchObject({ total: 0, others: [{ asked: 'Bash npm gone', by: 'ada' }] });
  expect(receipt.gaps[0]).toMatch(/^Output of Claude was lost \(/);
});

it('is Markdown that folds, names who consented, and cannot be broken out of', () => {
  const command = '`</details>` | <img src=x> [a](b)';
  const entries = transcript(user('Do *this* </details> @team'), use('a', { input: { command } }), result('a'));
  const text = receiptMarkdown(make(entries, [decision('a', { by: 'ada' })]));
  expect(text).toMatch(/^<details>\n<summary>Receipt: 1 tool call in 1 turn, and who consented<\/summary>/);
  expect(text).toContain('- 1 allowed by a person');
  expect(text).toContain('ada: Do \\*this\\* \\</details\\> \\@team');
  expect(text).toContain('`` Bash `</details>` | <img src=x> [a](b) ``: allowed by ada');
  expect(text.endsWith('\n\n</details>')).toBe(true);
});

it('counts every tool call of any transcript exactly once', () => {
  const ids = fc.integer({ min: 1, max: 12 }).map((n) => `t${n}`);
  const parent = fc.option(fc.constant('agent'), { nil: null });
  const entry = fc.oneof(
    fc.tuple(ids, parent).map(([id, parentToolUseId]) => use(id, { parentToolUseId })),
    fc
      .tuple(
        ids,
        fc.boolean(),
        fc.option(fc.constantFrom('person', 'rule', 'parts', 'hook', 'mode', 'classifier', 'other'), {
          nil: undefined,
        }),
      )
      .map(([id, isError, ranBy]) => result(id, { isError, ...(ranBy !== undefined && { ranBy }) })),
    fc.constant(user()),
    fc.constant(end),
  );
  const outcome = fc.constantFrom('allowed', 'denied', 'answered', 'timed-out', 'closed');
  const decided = fc
    .tuple(ids, outcome, fc.nat(50))
    .map(([id, outcome, n]) =>
      decision(id, { outcome, at: at(n), by: outcome === 'closed' ? null : 'ada', requestId: `r${n}-${id}` }),
    );
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 40 }), fc.array(decided, { maxLength: 15 }), (notes, decisions) => {
      const receipt = make(transcript(...notes), decisions);
      const called = new Set(
        notes.flatMap((note) => ('kind' in note && note.kind === 'tool-use' ? [Object(note).toolUseId] : [])),
      );
      const listed = receipt.turns.flatMap(({ calls }) => calls.map(({ toolUseId }) => toolUseId));
      expect(listed.toSorted()).toEqual([...called].toSorted());
      expect(receipt.total).toBe(called.size);
      expect(Object.values(receipt.totals).reduce((sum, n) => sum + n, 0)).toBe(called.size);
    }),
  );
});

it('says what ran where a hook changed a call, and what Claude had written', () => {
  const changedCall = { toolUseId: 'a', input: { command: 'npm b' }, hook: 'rewrite.sh' };
  const notice = { kind: 'notice', level: 'warning', code: 'input-changed', text: 'Changed.', changedCall };
  const receipt = make(transcript(user(), use('a'), result('a', { ranBy: 'mode' }), notice, end));
  expect(receipt.turns[0]?.calls).toMatchObject([
    { asked: 'Bash npm b', reason: 'mode', changed: { hook: 'rewrite.sh', from: 'Bash npm a' } },
  ]);
  expect(receiptMarkdown(receipt)).toContain('the hook ` rewrite.sh ` changed it from ` Bash npm a `');
});
