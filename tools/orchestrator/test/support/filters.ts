import { setTimeout as sleep } from 'node:timers/promises';

/** A line of the CLI, with the fields that filters read. */
interface Line {
  type?: string;
  subtype?: string;
  request_id?: string;
  request?: { subtype: string; tool_use_id?: string; input?: unknown; [key: string]: unknown };
  response?: { subtype?: string; request_id: string; pending_permission_requests?: unknown; [key: string]: unknown };
  is_error?: boolean;
  [key: string]: unknown;
}

/** Returns the lines to print in place of one line. */
type Filter = (line: Line) => object[] | Promise<object[]>;

type Entries = [string, unknown][];

/** Returns a value with the keys of its objects changed, at every depth. Tool input stays as it is: its keys are not the CLI's. */
function reshaped(value: unknown, change: (entries: Entries) => Entries): unknown {
  if (Array.isArray(value)) return value.map((each) => reshaped(each, change));
  if (typeof value !== 'object' || value === null) return value;
  const inner = (name: string, each: unknown) =>
    name === 'input' || name === 'updatedInput' ? each : reshaped(each, change);
  return Object.fromEntries(change(Object.entries(value).map(([name, each]) => [name, inner(name, each)])));
}

const isInitializeReply = ({ response }: Line) => response !== undefined && 'pending_permission_requests' in response;

/** Each filter changes one thing in the CLI's output. */
export const filters = {
  'permission requests have another subtype': (line) =>
    line.request?.subtype === 'can_use_tool'
      ? [{ ...line, request: { ...line.request, subtype: 'ask_permission' } }]
      : [line],
  'an empty list of open requests is left out': (line) => {
    if (!isInitializeReply(line) || line.response === undefined) return [line];
    const { pending_permission_requests: open, ...response } = line.response;
    return [{ ...line, response: Array.isArray(open) && open.length > 0 ? line.response : response }];
  },
  'the answer to initialize says nothing': ({ response, ...line }) => {
    if (response === undefined || !isInitializeReply({ response })) return [{ ...line, ...(response && { response }) }];
    const { subtype, request_id } = response;
    return [{ ...line, response: { subtype, request_id, response: {} } }];
  },
  'initialize is refused': (line) => {
    if (!isInitializeReply(line) || line.response === undefined) return [line];
    const { request_id } = line.response;
    return [
      { ...line, response: { subtype: 'error', request_id, error: 'Unsupported control request subtype: initialize' } },
    ];
  },
  'output of tasks is refused': (line) => {
    const { response } = line;
    if (!String(response?.error).startsWith('get_task_output:')) return [line];
    return [{ ...line, response: { ...response, error: 'Unsupported control request subtype: get_task_output' } }];
  },
  'every object has one key more': (line) => [
    Object(reshaped(line, (entries) => [...entries, ['x_new', { of: 'tomorrow' }]])),
  ],
  'every object has another order': (line) => [Object(reshaped(line, (entries) => entries.toReversed()))],
  'every line comes twice': (line) => [line, line],
  'every line comes late': async (line) => {
    await sleep(100);
    return [line];
  },
  'a line of an unknown type follows each': (line) => [line, { type: 'x_new', of: 'tomorrow' }],
  'permission requests do not name their call': (line) => {
    if (line.request?.subtype !== 'can_use_tool') return [line];
    const { tool_use_id: _call, ...request } = line.request;
    return [{ ...line, request }];
  },
  'permission requests do not say what would run': (line) => {
    if (line.request?.subtype !== 'can_use_tool') return [line];
    const { input: _input, ...request } = line.request;
    return [{ ...line, request }];
  },
  'nothing is told of messages': (line) => (line.type === 'command_lifecycle' ? [] : [line]),
  'results do not say whether they are errors': (line) => {
    const { is_error: _error, ...rest } = line;
    return [line.type === 'result' ? rest : line];
  },
  'results have another type': (line) => [line.type === 'result' ? { ...line, type: 'turn_result' } : line],
  'messages of the model have another type': (line) => [line.type === 'assistant' ? { ...line, type: 'model' } : line],
} satisfies Record<string, Filter>;

export type FilterName = keyof typeof filters;
