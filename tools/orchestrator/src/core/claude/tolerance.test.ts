import { describe, expect, it } from 'vitest';
import type { AgentEvent } from '../agent-event.ts';
import { parseFrame } from './frames.ts';
import { translate } from './translate.ts';

/** Lines of the CLI as seen, each with the event that must result whatever is missing; otherwise the line is shown raw, or refused. */
const SEEN: Record<string, { line: Record<string, unknown>; event: AgentEvent['type'] | null }> = {
  'a reply to initialize': {
    line: {
      type: 'control_response',
      response: {
        subtype: 'success',
        request_id: 'i',
        response: {
          commands: [{ name: 'compact', description: 'Compact', argumentHint: '', builtin: true }],
          agents: [{ name: 'Explore', description: '' }],
          models: [{ value: 'default', resolvedModel: 'opus', displayName: 'Default', supportsEffort: true }],
          account: { tokenSource: 'none' },
          pid: 7,
          claude_code_version: '2.1.330',
          current_permission_mode: 'default',
          session_state: 'idle',
        },
        pending_permission_requests: [],
        pending_user_dialog_requests: [],
      },
    },
    event: 'initialized',
  },
  'a permission request': {
    line: {
      type: 'control_request',
      request_id: 'r',
      request: {
        subtype: 'can_use_tool',
        tool_name: 'Bash',
        display_name: 'Bash',
        input: { command: 'make' },
        description: 'make',
        permission_suggestions: [{ type: 'addRules', behavior: 'allow', destination: 'session', rules: [] }],
        blocked_path: '/x',
        decision_reason: 'This command requires approval',
        tool_use_id: 't',
        agent_id: 'a',
        suppress_always_allow_rule: false,
      },
    },
    event: 'asked',
  },
  'a form': {
    line: {
      type: 'control_request',
      request_id: 'r',
      request: { subtype: 'elicitation', mcp_server_name: 'crm', message: 'Name?', requested_schema: {} },
    },
    event: 'asked',
  },
  'a withdrawal': { line: { type: 'control_cancel_request', request_id: 'r' }, event: 'withdrawn' },
  'a message of the model': {
    line: {
      type: 'assistant',
      message: {
        id: 'm',
        role: 'assistant',
        content: [
          { type: 'text', text: 'Hello' },
          { type: 'tool_use', id: 't', name: 'Bash', input: { command: 'make' } },
        ],
      },
      parent_tool_use_id: null,
      session_id: 's',
      uuid: 'u',
    },
    event: 'block',
  },
  'the result of a tool': {
    line: {
      type: 'user',
      message: {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'done' }], is_error: false },
        ],
      },
      parent_tool_use_id: null,
      isReplay: false,
      tool_use_result: { stdout: 'done' },
      tool_result_meta: [{ id: 't', permission_decision: { decision: 'accept', source: 'user_temporary' } }],
    },
    event: 'tool-result',
  },
  'the end of a turn': {
    line: {
      type: 'result',
      subtype: 'success',
      is_error: false,
      result: 'Done.',
      terminal_reason: 'completed',
      duration_ms: 3,
      total_cost_usd: 0.1,
      modelUsage: { opus: { inputTokens: 1, outputTokens: 2, cacheReadInputTokens: 3, cacheCreationInputTokens: 4 } },
      user_message_uuids: ['m'],
      session_id: 's',
    },
    event: 'turn-ended',
  },
  'the begin of a turn': {
    line: {
      type: 'system',
      subtype: 'init',
      model: 'opus',
      permissionMode: 'default',
      claude_code_version: '2.1.330',
      user_message_uuids: ['m'],
      session_id: 's',
    },
    event: 'turn-started',
  },
  'a message that was begun': {
    line: { type: 'command_lifecycle', command_uuid: 'm', state: 'started' },
    event: 'message-progress',
  },
  'a subagent': {
    line: {
      type: 'system',
      subtype: 'task_started',
      task_id: 'a',
      tool_use_id: 't',
      description: 'tests',
      task_type: 'local_agent',
    },
    event: 'task-started',
  },
  'the background tasks': {
    line: {
      type: 'system',
      subtype: 'background_tasks_changed',
      tasks: [{ task_id: 'a', task_type: 'local_agent', description: 'tests' }],
    },
    event: 'tasks',
  },
  'a retry': {
    line: { type: 'system', subtype: 'api_retry', attempt: 1, max_retries: 10, error_status: 429, error: 'rate' },
    event: 'notice',
  },
  'a refusal of its own': {
    line: { type: 'system', subtype: 'permission_denied', tool_name: 'Bash', decision_reason: 'rule', message: 'no' },
    event: 'notice',
  },
  'what is only shown live': {
    line: {
      type: 'stream_event',
      event: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } },
      api_message_id: 'm',
      parent_tool_use_id: null,
    },
    event: null, // the complete text follows
  },
};

/** Keys without which a line can no longer be recognised; the last tests cover these. */
const NAMES_THE_LINE = new Set(['type', 'subtype', 'event']);

const read = (line: unknown) => translate(parseFrame(JSON.stringify(line)));

/** The paths of all fields within a value. */
function pathsIn(value: unknown, at: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const place = [...at, Array.isArray(value) ? Number(key) : key];
    return [place, ...pathsIn(inner, place)];
  });
}

function changed(line: unknown, place: readonly (string | number)[], change: (parent: object, key: string) => void) {
  const copy = structuredClone(line);
  const parent = place.slice(0, -1).reduce<unknown>((value, key) => Reflect.get(Object(value), key), copy);
  change(Object(parent), String(place.at(-1)));
  return copy;
}

const CHANGES: Record<string, (parent: object, key: string) => void> = {
  missing: (parent, key) => void Reflect.deleteProperty(parent, key),
  null: (parent, key) => void Reflect.set(parent, key, null),
  'a number': (parent, key) => void Reflect.set(parent, key, 7),
  'a text': (parent, key) => void Reflect.set(parent, key, 'x'),
  'an object': (parent, key) => void Reflect.set(parent, key, { x: 1 }),
};

/** The line was shown raw, or refused so that the CLI does not wait. */
const wasReported = (event: AgentEvent) => event.type === 'notice' || event.type === 'asked-unknown';

/** A `user` line with a text is a person's message, which has been in the transcript since it was sent to the launch. */
const isPrompt = (place: readonly (string | number)[], change: string) =>
  place.join('.') === 'message.content' && change === 'a text';

const cases = Object.entries(SEEN).flatMap(([what, { line, event }]) =>
  pathsIn(line)
    .filter((place) => place.length > 1 || !NAMES_THE_LINE.has(String(place[0])))
    .flatMap((place) => Object.keys(CHANGES).map((change) => ({ what, line, event, place, change })))
    .filter(({ place, change }) => what !== 'the result of a tool' || !isPrompt(place, change)),
);

describe('with any one field of a line changed', () => {
  it.each(Object.keys(SEEN))('%s keeps its meaning, or is reported', (name) => {
    for (const { line, event, place, change } of cases.filter(({ what }) => what === name)) {
      const apply = CHANGES[change];
      if (apply === undefined || event === null) continue;
      const events = read(changed(line, place, apply));
      const saved = events.some((one) => one.type === event || wasReported(one));
      expect.soft(saved, `${place.join('.')} ${change}: ${JSON.stringify(events)}`).toBe(true);
    }
  });

  it('no line throws, and only live updates may be dropped', () => {
    for (const { line, event, place, change } of cases) {
      const events = read(changed(line, place, CHANGES[change] ?? (() => undefined)));
      if (event !== null) expect(events.length).toBeGreaterThan(0);
    }
  });
});

describe('a line of a future version', () => {
  it.each(Object.entries(SEEN))('%s has the same meaning with additional keys, in another order', (_what, { line }) => {
    const unattributed = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(unattributed);
      if (typeof value !== 'object' || value === null) return value;
      const entries = Object.entries(value).map(([key, inner]) => [key, unattributed(inner)] as const);
      return Object.fromEntries([['x_new', { nested: [1] }], ...entries.toReversed()]);
    };
    const events = read(unattributed(line));
    expect(events.map(({ type }) => type)).toEqual(read(line).map(({ type }) => type));
    expect(events.some(({ type }) => type === 'notice')).toBe(read(line).some(({ type }) => type === 'notice'));
  });

  it('is shown raw if its type is unknown', () => {
    for (const { line } of Object.values(SEEN).filter(({ line: { type } }) => !String(type).startsWith('control_'))) {
      expect(read({ ...line, type: 'renamed' })).toMatchObject([{ type: 'notice', entry: { kind: 'unknown' } }]);
    }
  });
});
