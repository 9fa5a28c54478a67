import { expect, it } from 'vitest';
import { translateSystem } from './translate-messages.ts';

const reported = (subtype: string, fields: object = {}) => translateSystem({ type: 'system', subtype, ...fields });
const notice = (level: string, code: string) => [{ type: 'notice', entry: { kind: 'notice', level, code } }];

it('takes init for the begin of a turn', () => {
  expect(
    reported('init', {
      model: 'opus',
      permissionMode: 'plan',
      claude_code_version: '2.1.330',
      tools: [],
      user_message_uuids: ['m1'],
    }),
  ).toEqual([{ type: 'turn-started', model: 'opus', mode: 'plan', version: '2.1.330', messageIds: ['m1'] }]);
  expect(reported('init')).toEqual([{ type: 'turn-started', model: null, mode: null, version: null, messageIds: [] }]);
});

it('sees a program that runs without CLAUDE.md and hooks', () => {
  const minimal = { tools: ['Bash', 'Edit', 'Read', 'mcp__tracker__find'] };
  expect(reported('init', minimal)).toMatchObject([{ isMinimal: true }]);
  expect(reported('init', { ...minimal, memory_paths: { auto: '/m' } })?.[0]).not.toHaveProperty('isMinimal');
  expect(reported('init', { tools: ['AskUserQuestion', 'Bash', 'Edit', 'Read'] })?.[0]).not.toHaveProperty('isMinimal');
});

it('tells of a retry that does not say how often it was tried', () => {
  expect(reported('api_retry', { error_status: 429 })).toMatchObject([
    { entry: { text: "The API's rate limit is reached (429). Claude Code waits and retries." } },
  ]);
});

it('follows the mode that the CLI reports, and passes over its other statuses', () => {
  expect(reported('status', { status: null, permissionMode: 'acceptEdits' })).toEqual([
    { type: 'mode-changed', mode: 'acceptEdits' },
  ]);
  expect(reported('status', { status: 'requesting' })).toEqual([]);
});

it('reads a task that started and the set of tasks there are', () => {
  const task = { task_id: 't1', tool_use_id: 'toolu_1', description: 'Look', task_type: 'local_agent' };
  expect(reported('task_started', task)).toEqual([
    { type: 'task-started', taskId: 't1', toolUseId: 'toolu_1', description: 'Look', taskType: 'local_agent' },
  ]);
  const dev = { task_id: 't2', task_type: 'local_bash', description: 'npm run dev', status: 'running' };
  expect(reported('background_tasks_changed', { tasks: [dev] })).toEqual([
    { type: 'tasks', tasks: [{ taskId: 't2', type: 'local_bash', description: 'npm run dev' }] },
  ]);
  expect(reported('background_tasks_changed', { tasks: [] })).toEqual([{ type: 'tasks', tasks: [] }]);
});

it.each([
  [401, 'rejected the login'],
  [429, 'rate limit'],
  [529, 'overloaded'],
  [null, 'could not be reached'],
  [500, 'answered 500'],
])('says in words that the API answered %s and what the CLI does about it', (error_status, text) => {
  const events = reported('api_retry', { attempt: 2, max_retries: 10, retry_delay_ms: 529, error_status, error: 'x' });
  expect(events).toMatchObject(notice('warning', 'api-retry'));
  expect(events?.[0]).toMatchObject({ entry: { text: expect.stringContaining(text) } });
  expect(events?.[0]).toMatchObject({ entry: { text: expect.stringContaining('attempt 2 of 10') } });
});

it('passes on what the CLI has to say to a person', () => {
  expect(reported('informational', { content: 'Blank prompt', level: 'info' })).toMatchObject(
    notice('info', 'informational'),
  );
  expect(reported('notification', { content: 'Bad', level: 'error' })).toMatchObject(notice('error', 'notification'));
  expect(reported('model_fallback', { original_model: 'a', fallback_model: 'b' })).toMatchObject([
    { entry: { code: 'model-fallback', text: 'Switched from a to b.' } },
  ]);
  expect(reported('compact_boundary')).toMatchObject(notice('info', 'compacted'));
});

it("tells of a refusal that was the CLI's own", () => {
  expect(reported('permission_denied', { tool_name: 'Bash', decision_reason: 'dontAsk mode' })).toMatchObject([
    { entry: { code: 'permission-denied', text: 'Claude Code itself refused Bash: dontAsk mode' } },
  ]);
  expect(reported('permission_denied')).toMatchObject([{ entry: { text: 'Claude Code itself refused a tool call.' } }]);
});

it.each(['thinking_tokens', 'task_progress', 'hook_started', 'session_title_changed'])(
  'returns null for %s',
  (subtype) => {
    expect(reported(subtype, { anything: 1 })).toEqual([]);
  },
);

it.each([
  ['an unknown subtype', { subtype: 'weather' }],
  ['no subtype', {}],
  ['a subtype that is no text', { subtype: 7 }],
  ['a task without an id', { subtype: 'task_started' }],
  ['tasks that are no list', { subtype: 'background_tasks_changed', tasks: 'none' }],
  ['a notice without words', { subtype: 'informational' }],
])('does not understand %s, and says so', (_what, message) => {
  expect(translateSystem(message)).toBeNull();
});
