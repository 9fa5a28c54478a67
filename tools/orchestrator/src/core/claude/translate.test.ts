import { expect, it } from 'vitest';
import { parseFrame } from './frames.ts';
import { translate } from './translate.ts';

const notify = (line: object) => translate(parseFrame(JSON.stringify(line)));
const raw = (value: unknown) => [{ type: 'notice', entry: { kind: 'unknown', parentToolUseId: null, raw: value } }];

const bash = {
  subtype: 'can_use_tool',
  tool_name: 'Bash',
  display_name: 'Bash',
  input: { command: 'echo hi > f.txt' },
  description: 'make file',
  permission_suggestions: [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }],
  blocked_path: '/w/f.txt',
  tool_use_id: 'toolu_1',
};
const ask = {
  toolName: 'Bash',
  displayName: 'Bash',
  input: { command: 'echo hi > f.txt' },
  description: 'make file',
  toolUseId: 'toolu_1',
  agentId: null,
  reason: null,
  blockedPath: '/w/f.txt',
  suggestions: [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }],
  suppressAlwaysAllow: false,
  leavesSandbox: null,
};
const request = (content: object) => ({ type: 'control_request', request_id: 'r1', request: content });

it('reads a permission request', () => {
  expect(notify(request(bash))).toEqual([{ type: 'asked', requestId: 'r1', kind: 'approval', ask }]);
});

it('reads what only some permission requests have', () => {
  const more = { agent_id: 'task-1', decision_reason: 'outside', suppress_always_allow_rule: true };
  const [event] = notify(request({ ...bash, ...more }));
  expect(event).toMatchObject({ ask: { agentId: 'task-1', reason: 'outside', suppressAlwaysAllow: true } });
});

it('reads a permission request that has only what is always there', () => {
  const { subtype, tool_name, input, tool_use_id } = bash;
  const [event] = notify(request({ subtype, tool_name, input, tool_use_id }));
  const bare = { displayName: 'Bash', description: null, blockedPath: null, suggestions: [] };
  expect(event).toEqual({ type: 'asked', requestId: 'r1', kind: 'approval', ask: { ...ask, ...bare } });
});

it.each([
  ['without a tool', { tool_name: undefined }],
  ['without an input', { input: undefined }],
  ['whose input is a text', { input: 'ls' }],
])('has a permission request %s refused, since the CLI would wait for ever', (_what, change) => {
  expect(notify(request({ ...bash, ...change }))).toEqual([
    { type: 'asked-unknown', requestId: 'r1', subtype: 'can_use_tool', permissionFor: 'a tool' },
  ]);
});

it('shows a permission request that does not name its call: a person can decide all the same', () => {
  expect(notify(request({ ...bash, tool_use_id: undefined }))).toMatchObject([
    { type: 'asked', ask: { toolUseId: '' } },
  ]);
});

it('knows a request for permission under another name, so that people are told', () => {
  expect(notify(request({ ...bash, subtype: 'ask_permission' }))).toEqual([
    { type: 'asked-unknown', requestId: 'r1', subtype: 'ask_permission', permissionFor: 'Bash' },
  ]);
});

it('takes the answer to initialize for one whatever it leaves out', () => {
  const whole = {
    subtype: 'success',
    request_id: 'init',
    response: { commands: [], agents: [], models: [], account: {}, pid: 1, current_permission_mode: 'plan' },
    pending_permission_requests: [],
  };
  const isInitialized = (response: object) =>
    notify({ type: 'control_response', response }).some(({ type }) => type === 'initialized');
  expect(isInitialized(whole)).toBe(true);
  const { pending_permission_requests: _pending, ...bare } = whole; // as until 2.1.267
  expect(isInitialized(bare)).toBe(true);
  for (const key of Object.keys(whole.response)) {
    expect(isInitialized({ ...bare, response: { ...whole.response, [key]: undefined } })).toBe(true);
  }
  expect(isInitialized({ ...bare, response: { session: { total_cost_usd: 1 } } })).toBe(false);
});

it('shows a permission request although something beside the call is odd', () => {
  const odd = { description: 7, permission_suggestions: ['x'], agent_id: {}, suppress_always_allow_rule: 'yes' };
  const plain = { ...ask, description: null, suggestions: [] };
  expect(notify(request({ ...bash, ...odd }))).toEqual([
    { type: 'asked', requestId: 'r1', kind: 'approval', ask: plain },
  ]);
});

it('has a request of an unknown subtype refused', () => {
  const content = { subtype: 'hook_callback', callback_id: 'cb1' };
  expect(notify(request(content))).toEqual([
    { type: 'asked-unknown', requestId: 'r1', subtype: 'hook_callback', permissionFor: null },
  ]);
});

it('reads the form of an MCP server', () => {
  const form = { type: 'object', properties: { name: { type: 'string' } } };
  const input = { mcp_server_name: 'crm', message: 'Your name?', mode: 'form', requested_schema: form };
  expect(notify(request({ subtype: 'elicitation', ...input }))).toMatchObject([
    {
      type: 'asked',
      requestId: 'r1',
      kind: 'elicitation',
      ask: { displayName: 'crm', description: 'Your name?', input },
    },
  ]);
  expect(notify(request({ subtype: 'elicitation' }))).toMatchObject([
    { type: 'asked-unknown', subtype: 'elicitation' },
  ]);
});

it.each([
  ['AskUserQuestion', 'question'],
  ['ExitPlanMode', 'plan'],
])('tells what kind of request a call of %s is', (tool_name, kind) => {
  expect(notify(request({ ...bash, tool_name }))).toMatchObject([{ type: 'asked', kind }]);
});

it('parses a cancel request', () => {
  expect(notify({ type: 'control_cancel_request', request_id: 'r1' })).toEqual([
    { type: 'withdrawn', requestId: 'r1' },
  ]);
});

it('hands on a reply whole, and so the echo of an answer', () => {
  const response = { subtype: 'success', request_id: 'r1', response: { behavior: 'allow' } };
  const event = { type: 'response', requestId: 'r1', ok: true, response };
  expect(notify({ type: 'control_response', response })).toEqual([event]);
});

it('reads out of the answer to get_usage what the process has counted', () => {
  const reply = (session: object) =>
    notify({ type: 'control_response', response: { subtype: 'success', request_id: 'u', response: { session } } })[0];
  expect(reply({ total_cost_usd: 0.12 })).toEqual({ type: 'cost-count', costUsd: 0.12, tokens: null });
  const of = { outputTokens: 20, cacheReadInputTokens: 300, cacheCreationInputTokens: 0 };
  const model_usage = { opus: { inputTokens: 1, ...of }, haiku: { inputTokens: 2, ...of } };
  const tokens = { input: 3, output: 40, cacheRead: 600, cacheCreation: 0 };
  expect(reply({ total_cost_usd: 0.12, model_usage })).toEqual({ type: 'cost-count', costUsd: 0.12, tokens });
});

it('reads the open requests out of the answer to initialize', () => {
  const open = [{ type: 'control_request', request_id: 'r7', request: bash }];
  const response = {
    subtype: 'success',
    request_id: 'init',
    response: { pid: 1, current_permission_mode: 'plan' },
    pending_permission_requests: open,
  };
  const [first, second] = notify({ type: 'control_response', response });
  expect(first).toMatchObject({
    type: 'initialized',
    mode: 'plan',
    open: [{ requestId: 'r7', kind: 'approval', ask }],
  });
  expect(second).toMatchObject({ type: 'response', requestId: 'init', ok: true });
});

it('gives one block for each content block, in the order in which they stand', () => {
  const content = [
    { type: 'thinking', thinking: 'Hm', signature: 's' },
    { type: 'text', text: 'I make it.' },
    { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'make' } },
    { type: 'thinking', thinking: '', signature: 'redacted' },
    { type: 'server_tool_use', id: 'x' },
  ];
  const line = { type: 'assistant', message: { id: 'msg_1', content }, parent_tool_use_id: 'toolu_0' };
  const place = { type: 'block', apiMessageId: 'msg_1', parentToolUseId: 'toolu_0' };
  expect(notify(line)).toEqual([
    { ...place, block: { kind: 'thinking', text: 'Hm' } },
    { ...place, block: { kind: 'text', text: 'I make it.' } },
    { ...place, block: { kind: 'tool-use', toolUseId: 'toolu_1', toolName: 'Bash', input: { command: 'make' } } },
    { ...place, block: { kind: 'other' } },
    { ...place, block: { kind: 'other' } },
  ]);
});

it('shows an API failure once: not as if the model had said it, but as the end of the turn', () => {
  const content = [{ type: 'text', text: 'API Error: 400' }];
  const message = { id: 'm', content };
  expect(notify({ type: 'assistant', message, error: 'invalid_request' })).toEqual([]);
  const result = { type: 'result', subtype: 'success', is_error: true, result: 'API Error: 400', session_id: 's1' };
  expect(notify(result)).toMatchObject([
    { type: 'conversation', sessionId: 's1' },
    { type: 'turn-ended', end: { outcome: 'failed', message: 'API Error: 400' } },
  ]);
});

it('reads the results of tools, as text', () => {
  const content = [
    { type: 'tool_result', tool_use_id: 'a', content: 'done', is_error: false },
    {
      type: 'tool_result',
      tool_use_id: 'b',
      content: [{ type: 'text', text: 'x' }, { type: 'image' }],
      is_error: true,
    },
    { type: 'tool_result', tool_use_id: 'c' },
    { type: 'text', text: 'what a person wrote' },
  ];
  const result = { type: 'tool-result', parentToolUseId: null, allowedBy: null, sandboxFailure: null };
  expect(notify({ type: 'user', message: { role: 'user', content }, parent_tool_use_id: null })).toEqual([
    { ...result, toolUseId: 'a', isError: false, text: 'done' },
    { ...result, toolUseId: 'b', isError: true, text: 'x\n[image]' },
    { ...result, toolUseId: 'c', isError: false, text: '' },
  ]);
});

it('reads what the results of task tools tell of the list', () => {
  const reported = (tool_use_result: unknown, parent: string | null = null) =>
    notify({ type: 'user', message: { content: [] }, parent_tool_use_id: parent, tool_use_result });
  const task = { id: '1', subject: 'Build', description: 'All of it' };
  const added = { kind: 'added', todo: { id: '1', content: 'Build', status: 'pending' } };
  expect(reported({ task })).toEqual([{ type: 'todos', updates: added }]);
  expect(reported({ task }, 'agent')).toEqual([]);
  expect(reported({ tasks: [{ ...task, status: 'completed', blockedBy: [] }] })).toEqual([
    { type: 'todos', updates: { kind: 'all', todos: [{ id: '1', content: 'Build', status: 'completed' }] } },
  ]);
  expect(reported({ success: true, taskId: '1' })).toEqual([]);
});

it.each<[string, unknown, 'hook' | null]>([
  ['a hook', [{ id: 'a', permission_decision: { decision: 'accept', source: 'hook' } }], 'hook'],
  ['a person', [{ id: 'a', permission_decision: { decision: 'accept', source: 'user_temporary' } }], null],
  ['a hook that refused', [{ id: 'a', permission_decision: { decision: 'reject', source: 'hook' } }], null],
  ['a hook, of another tool', [{ id: 'b', permission_decision: { decision: 'accept', source: 'hook' } }], null],
  ['something not understood', [{ id: 'a', permission_decision: 7 }], null],
  ['nothing understood', 'x', null],
])('tells of a result whether it was a hook that let the tool run: %s', (_, tool_result_meta, allowedBy) => {
  const content = [{ type: 'tool_result', tool_use_id: 'a', content: 'done' }];
  const line = { type: 'user', message: { role: 'user', content }, parent_tool_use_id: null, tool_result_meta };
  expect(notify(line).at(-1)).toMatchObject({ type: 'tool-result', toolUseId: 'a', allowedBy });
});

it('tells of the echo of a message, of what a command printed, and of replies and lines that nobody asked for', () => {
  const echo = (content: string, more = {}) =>
    notify({ type: 'user', message: { role: 'user', content }, isReplay: true, ...more });
  expect(echo('Go on', { uuid: 'm1' })).toEqual([{ type: 'message-echoed', messageId: 'm1', text: 'Go on' }]);
  expect(echo('Go on')).toEqual([]);
  expect(echo('<local-command-stdout>Set model</local-command-stdout>')).toEqual([{ type: 'command-output' }]);
  expect(echo('<local-command-stdout>Compacted </local-command-stdout>')).toEqual([]);
  expect(notify({ type: 'control_response', response: { subtype: 'success' } })[0]).toEqual({
    type: 'reply-to-nobody',
  });
  const content = [{ type: 'text', text: 'I said' }];
  expect(notify({ type: 'assistant', message: { role: 'assistant', content } })[0]).toEqual({ type: 'forged-line' });
  const result = { type: 'result', subtype: 'success', is_error: false, origin: { kind: 'unclassified' } };
  expect(notify(result)[0]).toEqual({ type: 'message-echoed', messageId: null, text: null });
});

it('reads streaming text and thinking, under the name of the block', () => {
  const line = (delta: object) => ({
    type: 'stream_event',
    event: { type: 'content_block_delta', index: 1, delta },
    api_message_id: 'msg_1',
    parent_tool_use_id: null,
  });
  const place = { type: 'delta', apiMessageId: 'msg_1', index: 1, parentToolUseId: null };
  expect(notify(line({ type: 'text_delta', text: 'Run' }))).toEqual([{ ...place, kind: 'text', text: 'Run' }]);
  expect(notify(line({ type: 'thinking_delta', thinking: 'Hm' }))).toEqual([
    { ...place, kind: 'thinking', text: 'Hm' },
  ]);
  expect(notify(line({ type: 'input_json_delta', partial_json: '{' }))).toEqual([]);
  expect(notify({ type: 'stream_event', event: { type: 'message_stop' } })).toEqual([]);
});

it.each([
  ['queued', []],
  ['started', [{ type: 'message-progress', messageId: 'm1', progress: 'consumed' }]],
  ['completed', [{ type: 'message-progress', messageId: 'm1', progress: 'finished' }]],
  ['cancelled', [{ type: 'message-progress', messageId: 'm1', progress: 'cancelled' }]],
])('follows a message that is %s', (state, events) => {
  expect(notify({ type: 'command_lifecycle', command_uuid: 'm1', state })).toEqual(events);
});

it('tells what made the CLI begin a turn by itself', () => {
  const line = { type: 'command_lifecycle', command_uuid: 'm1', state: 'started', wakeup_source: 'loop_wakeup' };
  expect(notify(line)).toMatchObject([{ type: 'message-progress', messageId: 'm1', wakeUp: 'loop_wakeup' }]);
});

it.each([
  ['of an unknown type', { type: 'prompt_suggestion', text: 'x' }],
  ['without a type', { hello: 1 }],
  ["that claims to be the model's and has no content", { type: 'assistant', message: {} }],
  ['of a lifecycle that is not known', { type: 'command_lifecycle', command_uuid: 'm1', state: 'lost' }],
  ['of an unknown system subtype', { type: 'system', subtype: 'weather', uuid: 'u' }],
])('shows a line %s raw', (_what, line) => {
  expect(notify(line)).toEqual(raw(line));
});

it('shows a line that is no JSON raw', () => {
  expect(translate(parseFrame('Segmentation fault'))).toEqual(raw('Segmentation fault'));
});

it.each(['keep_alive', 'tool_progress', 'auth_status'])('returns null for %s', (type) => {
  expect(notify({ type, session_id: 's' })).toEqual([]);
});

it('keeps what an initialize reply lists as open and is not understood, so that it can be refused', () => {
  const use = { subtype: 'can_use_tool', tool_name: 'Bash', input: {}, tool_use_id: 't' };
  const listed = [
    { request_id: 'good', request: use },
    { request_id: 'no-input', request: { ...use, input: 'all' } },
    { request_id: 'no-subtype', request: {} },
    { request_id: 'no-request' },
    'nonsense',
  ];
  const response = { subtype: 'success', request_id: 'i', response: {}, pending_permission_requests: listed };
  const [event] = notify({ type: 'control_response', response });
  expect(event).toMatchObject({
    type: 'initialized',
    open: [{ requestId: 'good' }],
    unclear: [
      { requestId: 'no-input', subtype: 'can_use_tool', raw: { request: { input: 'all' } } },
      { requestId: 'no-subtype', subtype: 'unknown' },
      { requestId: 'no-request', subtype: 'unknown' },
      { requestId: null, raw: 'nonsense' },
    ],
  });
});
