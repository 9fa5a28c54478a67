import { setTimeout as sleep } from 'node:timers/promises';
import type { Conversation } from './conversation.ts';
import type { EmulatedProcess, Message } from './emulated-process.ts';
import { type InputLine, isRecord } from './input.ts';
import { MODEL, type Printer, type ToolUse } from './printer.ts';
import { asksFirst, createPermissionRequests, runTool } from './tools.ts';

export interface EmulatorDeps {
  conversation: Conversation;
  printer: Printer;
  permissionMode: string;
  cwd: string;
  exit: (code: number) => void;
}

/**
 * Handles the lines of a host as `claude` does, as far as Callboard depends on it and as seen with 2.1.330. Its model is the
 * script in the newest message.
 * @returns the function that takes the host's lines
 */
export function createEmulatedClaude({ exit, ...parts }: EmulatorDeps): (line: InputLine) => void {
  const { conversation, printer } = parts;
  const requests = createPermissionRequests(printer);
  const process: EmulatedProcess = { ...parts, requests, queue: [], costUsd: 0, turn: null, isEnding: false };
  const seen = new Set<string>();
  let lastFailed = false;

  function takeMessage({ uuid, text }: Message): void {
    if (seen.has(uuid)) return;
    seen.add(uuid);
    if (conversation.hasRead(uuid)) {
      replay(printer, { uuid, text });
      printer.lifecycle(uuid, 'completed');
      return;
    }
    printer.lifecycle(uuid, 'queued');
    process.queue.push({ uuid, text });
    if (process.turn === null) void work();
  }

  async function work(): Promise<void> {
    const { queue } = process;
    // The first message of an idle session makes a turn of its own; those that arrive during a turn share the next one.
    for (let batch = queue.splice(0, 1); batch.length > 0 && !process.isEnding; batch = queue.splice(0)) {
      process.turn = new AbortController();
      lastFailed = await runTurn(process, batch, process.turn.signal);
      process.turn = null;
    }
    if (process.isEnding) exit(lastFailed ? 1 : 0);
  }

  function takeRequest(id: string, request: { subtype: string; [field: string]: unknown }): void {
    const fields = carryOut(process, request);
    const error = `Unsupported control request subtype: ${request.subtype}`;
    const response =
      fields === null
        ? { subtype: 'error', error, error_code: 'unsupported_request' }
        : { subtype: 'success', ...fields };
    printer.frame({ type: 'control_response', response: { ...response, request_id: id } });
    if (request.subtype === 'set_permission_mode') {
      const { permissionMode } = process;
      printer.message({ type: 'system', subtype: 'status', status: null, permissionMode });
    }
    if (process.isEnding && process.turn === null) exit(0);
  }

  return (line) => {
    if (line.kind === 'user') takeMessage(line);
    else if (line.kind === 'request') takeRequest(line.id, line.request);
    else if (line.kind === 'answer' && requests.settle(line.id, line.response)) process.turn?.abort();
  };
}

const uuidOf = ({ uuid }: Message): string => uuid;

/** Carries out a control request. Returns the fields of its reply; null for an unknown subtype. */
function carryOut(emulated: EmulatedProcess, request: { subtype: string; [field: string]: unknown }): object | null {
  const { requests, turn, queue, printer, permissionMode, costUsd } = emulated;
  switch (request.subtype) {
    case 'initialize': {
      const open = requests.lines();
      const session_state = open.length > 0 ? 'requires_action' : turn === null ? 'idle' : 'running';
      const mode = { current_permission_mode: permissionMode };
      const response = { commands: [], models: [], ...mode, session_state, pid: process.pid };
      return { response, pending_permission_requests: open };
    }
    case 'interrupt': {
      const taken = request.cancel_queued === true ? queue.splice(0) : [];
      turn?.abort();
      for (const { uuid } of taken) printer.lifecycle(uuid, 'cancelled');
      return { response: { still_queued: queue.map(uuidOf), cancelled: taken.map(uuidOf) } };
    }
    case 'set_permission_mode':
      emulated.permissionMode = String(request.mode);
      return { response: { mode: emulated.permissionMode } };
    case 'set_model':
      return { response: { model: request.model ?? MODEL } };
    case 'apply_flag_settings':
      return {};
    case 'get_context_usage':
      return { response: { totalTokens: 1_000, maxTokens: 200_000, percentage: 1 } };
    case 'get_usage':
      return { response: { session: { total_cost_usd: costUsd } } };
    case 'end_session':
      emulated.isEnding = true;
      turn?.abort();
      return {};
    default:
      return null;
  }
}

const REJECTED =
  "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.";

class Interrupted extends Error {}

/** Prints a message as the CLI does with `--replay-user-messages`. */
function replay(printer: Printer, { uuid, text }: Message): void {
  const message = { role: 'user', content: text };
  printer.frame({ type: 'user', message, parent_tool_use_id: null, uuid, isReplay: true });
}

/** Runs one turn on these messages. Resolves with whether it failed. */
async function runTurn(process: EmulatedProcess, batch: Message[], signal: AbortSignal): Promise<boolean> {
  const { conversation, printer, cwd, permissionMode } = process;
  const begun = performance.now();
  for (const { uuid } of batch) printer.lifecycle(uuid, 'started');
  printer.message({ type: 'system', subtype: 'init', cwd, model: MODEL, permissionMode, tools: [] });
  for (const { uuid, text } of batch) conversation.told(uuid, text);
  printer.message({ type: 'system', subtype: 'status', status: 'requesting' });
  for (const message of batch) replay(printer, message);
  const folded: Message[] = [];
  const end = await converse(process, folded, signal);
  for (const { uuid } of folded) printer.lifecycle(uuid, end.isAborted ? 'cancelled' : 'completed');
  process.costUsd += 0.001;
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadInputTokens: 0, cacheCreationInputTokens: 0 };
  const figures = {
    duration_ms: Math.round(performance.now() - begun),
    total_cost_usd: process.costUsd,
    modelUsage: { [MODEL]: usage },
  };
  printer.message({ type: 'result', ...end.line, ...figures });
  for (const { uuid } of batch) printer.lifecycle(uuid, end.isAborted ? 'cancelled' : 'completed');
  return end.line.is_error;
}

/** Replies and runs tools until the script is finished, or the turn is interrupted. */
async function converse(process: EmulatedProcess, folded: Message[], signal: AbortSignal) {
  const { conversation, printer } = process;
  let where: 'aborted_streaming' | 'aborted_tools' = 'aborted_streaming';
  let hasReplied = false;
  try {
    for (;;) {
      where = 'aborted_streaming';
      hasReplied = false;
      const step = conversation.due();
      if (step === null) return failed('API Error: 400 the emulator cannot read this script');
      if (step.delayMs !== undefined) await sleep(step.delayMs, undefined, { signal });
      const tools = printer.reply(step);
      conversation.replied(tools.map(({ id }) => id));
      hasReplied = true;
      if (step.hangs) await sleep(2 ** 31 - 1, undefined, { signal });
      if (tools.length === 0) {
        const line = { subtype: 'success', is_error: false, result: step.text ?? '', terminal_reason: 'completed' };
        return { line, isAborted: false };
      }
      where = 'aborted_tools';
      for (const tool of tools) await call(process, tool, signal); // like the CLI, runs Bash calls one after another
      if (signal.aborted) throw new Interrupted();
      fold(process, folded);
      printer.message({ type: 'system', subtype: 'status', status: 'requesting' });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    if (!hasReplied) conversation.replied([]); // a reply that was interrupted before its first word counts as given
    return aborted(printer, where);
  }
}

function failed(result: string) {
  return { line: { subtype: 'success', is_error: true, result, terminal_reason: 'api_error' }, isAborted: false };
}

function aborted(printer: Printer, terminal_reason: 'aborted_streaming' | 'aborted_tools') {
  const text = `[Request interrupted by user${terminal_reason === 'aborted_tools' ? ' for tool use' : ''}]`;
  const message = { role: 'user', content: [{ type: 'text', text }] };
  printer.message({ type: 'user', message, parent_tool_use_id: null });
  return {
    line: { subtype: 'error_during_execution', is_error: true, errors: [], terminal_reason },
    isAborted: true,
  };
}

/** Adds the messages that arrived while tools ran to the turn. */
function fold({ queue, printer, conversation }: EmulatedProcess, folded: Message[]): void {
  for (const message of queue.splice(0)) {
    printer.lifecycle(message.uuid, 'started');
    conversation.told(message.uuid, message.text);
    replay(printer, message);
    folded.push(message);
  }
}

async function call(process: EmulatedProcess, tool: ToolUse, signal: AbortSignal): Promise<void> {
  const { printer, requests, permissionMode } = process;
  const mustAsk = asksFirst(tool) && permissionMode !== 'bypassPermissions';
  const answer = mustAsk ? await requests.ask(tool, signal) : { behavior: 'allow' };
  if (signal.aborted || answer === null) return printer.toolResult(tool.id, REJECTED, true);
  if (answer.behavior !== 'allow') return printer.toolResult(tool.id, String(answer.message ?? ''), true);
  const changed =
    isRecord(answer.updatedInput) && Object.keys(answer.updatedInput).length > 0 ? answer.updatedInput : null;
  const { text, isError } = await runTool({ ...tool, input: changed ?? tool.input }, printer, signal);
  printer.toolResult(tool.id, signal.aborted ? REJECTED : text, isError || signal.aborted);
}
