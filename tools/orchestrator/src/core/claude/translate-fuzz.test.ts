import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseFrame } from './frames.ts';
import { translate } from './translate.ts';

/** Names and values that the CLI uses, so that arbitrary lines get past the first look. */
const TYPES = [
  'assistant',
  'user',
  'result',
  'system',
  'stream_event',
  'command_lifecycle',
  'control_request',
  'control_response',
  'control_cancel_request',
  'constructor',
];
const SUBTYPES = [
  'init',
  'status',
  'api_retry',
  'task_started',
  'background_tasks_changed',
  'informational',
  'permission_denied',
  'model_fallback',
  'compact_boundary',
  'can_use_tool',
  'elicitation',
  'success',
  'error',
  '__proto__',
];

const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(...TYPES, ...SUBTYPES));
const text = fc.oneof(fc.string(), value);
const block = fc.record(
  {
    type: fc.oneof(fc.constantFrom('text', 'thinking', 'tool_use', 'tool_result'), value),
    text,
    thinking: text,
    id: text,
    name: text,
    input: value,
    tool_use_id: text,
    content: value,
    is_error: value,
  },
  { requiredKeys: [] },
);
const content = fc.record(
  {
    subtype: fc.oneof(fc.constantFrom(...SUBTYPES), value),
    request_id: text,
    id: text,
    content: fc.oneof(fc.array(block), value),
    tool_name: text,
    tool_use_id: text,
    input: value,
    permission_suggestions: value,
    pending_permission_requests: fc.array(value),
    response: value,
    type: text,
    index: value,
    delta: fc.oneof(block, value),
  },
  { requiredKeys: [] },
);
const line = fc.record(
  {
    type: fc.oneof(fc.constantFrom(...TYPES), value),
    subtype: fc.oneof(fc.constantFrom(...SUBTYPES), value),
    request_id: text,
    request: fc.oneof(content, value),
    response: fc.oneof(content, value),
    message: fc.oneof(content, value),
    event: fc.oneof(content, value),
    tasks: fc.oneof(fc.array(content), value),
    task_id: text,
    command_uuid: text,
    state: value,
    session_id: text,
    is_error: value,
    result: value,
    errors: value,
    duration_ms: value,
    total_cost_usd: value,
    parent_tool_use_id: value,
    api_message_id: text,
    error: value,
    permissionMode: text,
    attempt: value,
    max_retries: value,
    error_status: value,
  },
  { requiredKeys: ['type'] },
);

it('makes something of any line, and never throws', () => {
  fc.assert(
    fc.property(fc.oneof({ weight: 4, arbitrary: line }, { weight: 1, arbitrary: fc.jsonValue() }), (anything) => {
      for (const event of translate(parseFrame(JSON.stringify(anything)))) expect(event.type).toBeTypeOf('string');
    }),
    { numRuns: 600 },
  );
});

it('answers or shows every request, so that the CLI never waits for nothing', () => {
  fc.assert(
    fc.property(fc.oneof(content, fc.jsonValue()), (request) => {
      const events = translate(parseFrame(JSON.stringify({ type: 'control_request', request_id: 'r1', request })));
      expect(events).toHaveLength(1);
      expect(['asked', 'asked-unknown', 'notice', 'asked-elicitation']).toContain(events[0]?.type);
    }),
    { numRuns: 300 },
  );
});
