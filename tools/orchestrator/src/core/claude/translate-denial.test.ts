import { expect, it } from 'vitest';
import { parseFrame } from './frames.ts';
import { translate } from './translate.ts';

const reported = (line: object) => translate(parseFrame(JSON.stringify(line)));
/** A result of a call, as the CLI prints it (2.1.330). */
const result = (content: string, meta?: object) =>
  reported({
    type: 'user',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content, is_error: true }] },
    ...(meta !== undefined && { tool_result_meta: [{ id: 't1', ...meta }] }),
  });
const rejected = (source: string, reason_type?: string) => ({
  non_execution_kind: 'permission-rule',
  permission_decision: { decision: 'reject', source, reason_type },
});
const denied = (source: string, more: object = {}) => ({
  type: 'call-denied',
  toolUseId: 't1',
  denial: { source, detail: null },
  ...more,
});

it.each([
  ['mode', 'mode'],
  ['classifier', 'mode'],
  ['rule', 'rule'],
  ['subcommandResults', 'rule'],
  ['hook', 'hook'],
  ['somethingNew', 'unknown'],
])('takes a denial for %s to be by %s', (decision_reason_type, source) => {
  const line = { type: 'system', subtype: 'permission_denied', tool_name: 'Bash', tool_use_id: 't1' };
  const message = 'Denied in this mode. IMPORTANT: You *may* attempt to do it otherwise.';
  expect(reported({ ...line, decision_reason_type, message })).toEqual([
    denied(source, { toolName: 'Bash', reason: 'Denied in this mode.' }),
  ]);
});

it('takes who denied it from the result of the call where no line of its own tells', () => {
  expect(result('<tool_use_error>It is denied.</tool_use_error>', rejected('config', 'rule'))).toMatchObject([
    denied('rule', { reason: 'It is denied.' }),
    { type: 'tool-result', wasReported: true },
  ]);
  expect(result('PreToolUse:Bash hook error: not here', rejected('hook', 'hook'))).toMatchObject([
    denied('hook', { denial: { source: 'hook', detail: 'PreToolUse:Bash' }, reason: 'not here' }),
    { type: 'tool-result' },
  ]);
  expect(result('No check.', { non_execution_kind: 'automode-unavailable' })).toMatchObject([
    denied('mode'),
    { type: 'tool-result' },
  ]);
});

it('takes what a person denied, and what merely failed, for no denial by Claude Code', () => {
  const types = (events: { type: string }[]) => events.map(({ type }) => type);
  expect(types(result('no', rejected('user_reject')))).toEqual(['tool-result']);
  expect(types(result('no', rejected('user_reject', 'rule')))).toEqual(['call-denied', 'tool-result']); // the user's rule
  expect(types(result('stop', { non_execution_kind: 'user-rejected' }))).toEqual(['tool-result']);
  expect(types(result('exit 1', { permission_decision: { decision: 'accept', source: 'config' } }))).toEqual([
    'tool-result',
  ]);
  expect(result('exit 1')).not.toMatchObject([{ wasReported: true }]);
});

it('keeps which calls the end of a turn says were denied', () => {
  const end = { type: 'result', subtype: 'success', is_error: false };
  const calls = [{ tool_name: 'Bash', tool_use_id: 't1', tool_input: {} }, 'nonsense'];
  expect(reported({ ...end, permission_denials: calls })).toMatchObject([
    { type: 'turn-ended', end: { denied: ['t1'] } },
  ]);
  expect(reported(end)).toMatchObject([{ end: { denied: [] } }]);
});
