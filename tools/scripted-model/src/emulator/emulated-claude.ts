import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Conversation } from './conversation.ts';
import { type InputLine, isRecord } from './input.ts';
import { MODEL, type Printer, type ToolUse } from './printer.ts';
import { askedInput, asksFirst, runTool } from './tools.ts';

export interface EmulatorParts {
  conversation: Conversation;
  printer: Printer;
  permissionMode: string;
  cwd: string;
  exit: (code: number) => void;
}

interface Message {
  uuid: string;
  text: string;
}

interface OpenRequest {
  /** The whole line, as `initialize` lists it again. */
  line: object;
  settle: (answer: Record<string, unknown> | null) => void;
}

const REJECTED =
  "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.";

const uuidOf = ({ uuid }: Message): string => uuid;

class Interrupted extends Error {}

/**
 * What `claude` does with the lines of its host, as far as Callboard depends on it and as it was seen with 2.1.330. Its
 * model is the script in the newest message. Returns what takes the host's lines.
 */
export function createEmulatedClaude({ conversation, printer, permissionMode, cwd, exit }: EmulatorParts) {
  const queue: Message[] = [];
  const seen = new Set<string>();
  const open = new Map<string, OpenRequest>();
  let mode = permissionMode;
  let turn: AbortController | null = null;
  let costUsd = 0;
  let lastFailed = false;
  let isEnding = false;

  function takeMessage({ uuid, text }: Message): void {
    if (seen.has(uuid)) return;
    seen.add(uuid);
    if (conversation.hasRead(uuid)) {
      replay({ uuid, text });
      printer.lifecycle(uuid, 'completed');
      return;
    }
    printer.lifecycle(uuid, 'queued');
    queue.push({ uuid, text });
    if (turn === null) void work();
  }

  async function work(): Promise<void> {
    // The first message of an idle session goes alone; those that came during a turn go together.
    for (let batch = queue.splice(0, 1); batch.length > 0 && !isEnding; batch = queue.splice(0)) {
      turn = new AbortController();
      await runTurn(batch, turn.signal);
      turn = null;
    }
    if (isEnding) exit(lastFailed ? 1 : 0);
  }

  function replay({ uuid, text }: Message): void {
    const message = { role: 'user', content: text };
    printer.frame({ type: 'user', message, parent_tool_use_id: null, uuid, isReplay: true });
  }

  async function runTurn(batch: Message[], signal: AbortSignal): Promise<void> {
    const begun = performance.now();
    for (const { uuid } of batch) printer.lifecycle(uuid, 'started');
    printer.message({ type: 'system', subtype: 'init', cwd, model: MODEL, permissionMode: mode, tools: [] });
    for (const { uuid, text } of batch) conversation.told(uuid, text);
    printer.message({ type: 'system', subtype: 'status', status: 'requesting' });
    batch.forEach(replay);
    const folded: Message[] = [];
    const end = await converse(folded, signal);
    for (const { uuid } of folded) printer.lifecycle(uuid, end.isAborted ? 'cancelled' : 'completed');
    lastFailed = end.line.is_error;
    costUsd += 0.001;
    const usage = { inputTokens: 0, outputTokens: 0, cacheReadInputTokens: 0, cacheCreationInputTokens: 0 };
    const figures = {
      duration_ms: Math.round(performance.now() - begun),
      total_cost_usd: costUsd,
      modelUsage: { [MODEL]: usage },
    };
    printer.message({ type: 'result', ...end.line, ...figures });
    for (const { uuid } of batch) printer.lifecycle(uuid, end.isAborted ? 'cancelled' : 'completed');
  }

  /** Replies and tool calls until the model has said its last, or somebody interrupts. */
  async function converse(folded: Message[], signal: AbortSignal) {
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
        for (const tool of tools) await call(tool, signal); // the CLI runs Bash calls one after another, too
        if (signal.aborted) throw new Interrupted();
        fold(folded);
        printer.message({ type: 'system', subtype: 'status', status: 'requesting' });
      }
    } catch (error) {
      if (!signal.aborted) throw error;
      if (!hasReplied) conversation.replied([]); // one that was interrupted before its first word counts as given
      return aborted(where);
    }
  }

  function failed(result: string) {
    return { line: { subtype: 'success', is_error: true, result, terminal_reason: 'api_error' }, isAborted: false };
  }

  function aborted(terminal_reason: 'aborted_streaming' | 'aborted_tools') {
    const text = `[Request interrupted by user${terminal_reason === 'aborted_tools' ? ' for tool use' : ''}]`;
    const message = { role: 'user', content: [{ type: 'text', text }] };
    printer.message({ type: 'user', message, parent_tool_use_id: null });
    return {
      line: { subtype: 'error_during_execution', is_error: true, errors: [], terminal_reason },
      isAborted: true,
    };
  }

  /** What came while tools ran joins the turn. */
  function fold(folded: Message[]): void {
    for (const message of queue.splice(0)) {
      printer.lifecycle(message.uuid, 'started');
      conversation.told(message.uuid, message.text);
      replay(message);
      folded.push(message);
    }
  }

  async function call(tool: ToolUse, signal: AbortSignal): Promise<void> {
    const answer = asksFirst(tool) && mode !== 'bypassPermissions' ? await ask(tool, signal) : { behavior: 'allow' };
    if (signal.aborted || answer === null) return printer.toolResult(tool.id, REJECTED, true);
    if (answer.behavior !== 'allow') return printer.toolResult(tool.id, String(answer.message ?? ''), true);
    const changed =
      isRecord(answer.updatedInput) && Object.keys(answer.updatedInput).length > 0 ? answer.updatedInput : null;
    const { text, isError } = await runTool({ ...tool, input: changed ?? tool.input }, printer, signal);
    printer.toolResult(tool.id, signal.aborted ? REJECTED : text, isError || signal.aborted);
  }

  function ask(tool: ToolUse, signal: AbortSignal): Promise<Record<string, unknown> | null> {
    const { id, name } = tool;
    const input = askedInput(tool);
    const request_id = randomUUID();
    const isQuestion = name === 'AskUserQuestion';
    const request = {
      subtype: 'can_use_tool',
      tool_name: name,
      display_name: name,
      input,
      tool_use_id: id,
      ...(isQuestion
        ? { requires_user_interaction: true }
        : { description: input.description, permission_suggestions: [] }),
    };
    const line = { type: 'control_request', request_id, request };
    return new Promise((resolve) => {
      const withdraw = () => {
        open.delete(request_id);
        printer.frame({ type: 'control_cancel_request', request_id });
        resolve(null);
      };
      signal.addEventListener('abort', withdraw, { once: true });
      const settle = (answer: Record<string, unknown> | null) => {
        signal.removeEventListener('abort', withdraw);
        resolve(answer);
      };
      open.set(request_id, { line, settle });
      printer.frame(line);
    });
  }

  function takeAnswer(id: string, response: Record<string, unknown>): void {
    const asked = open.get(id);
    if (asked === undefined) return; // unknown, late or second
    open.delete(id);
    printer.frame({ type: 'control_response', response }); // the echo of the one that counts
    const answer = isRecord(response.response) ? response.response : {};
    const isInterrupt = answer.behavior === 'deny' && answer.interrupt === true;
    asked.settle(isInterrupt ? null : answer);
    if (isInterrupt) turn?.abort();
  }

  function takeRequest(id: string, request: { subtype: string; [field: string]: unknown }): void {
    const fields = carryOut(request);
    const error = `Unsupported control request subtype: ${request.subtype}`;
    const response =
      fields === null
        ? { subtype: 'error', error, error_code: 'unsupported_request' }
        : { subtype: 'success', ...fields };
    printer.frame({ type: 'control_response', response: { ...response, request_id: id } });
    if (request.subtype === 'set_permission_mode') {
      printer.message({ type: 'system', subtype: 'status', status: null, permissionMode: mode });
    }
    if (isEnding && turn === null) exit(0);
  }

  /** Does what a control request asks for; returns what its reply holds, null for one that is not known. */
  function carryOut(request: { subtype: string; [field: string]: unknown }): object | null {
    switch (request.subtype) {
      case 'initialize': {
        const session_state = open.size > 0 ? 'requires_action' : turn === null ? 'idle' : 'running';
        const response = { commands: [], models: [], current_permission_mode: mode, session_state, pid: process.pid };
        return { response, pending_permission_requests: [...open.values()].map(({ line }) => line) };
      }
      case 'interrupt': {
        const taken = request.cancel_queued === true ? queue.splice(0) : [];
        turn?.abort();
        for (const { uuid } of taken) printer.lifecycle(uuid, 'cancelled');
        return { response: { still_queued: queue.map(uuidOf), cancelled: taken.map(uuidOf) } };
      }
      case 'set_permission_mode':
        mode = String(request.mode);
        return { response: { mode } };
      case 'set_model':
        return { response: { model: request.model ?? MODEL } };
      case 'apply_flag_settings':
        return {};
      case 'get_context_usage':
        return { response: { totalTokens: 1_000, maxTokens: 200_000, percentage: 1 } };
      case 'get_usage':
        return { response: { session: { total_cost_usd: costUsd } } };
      case 'end_session':
        isEnding = true;
        turn?.abort();
        return {};
      default:
        return null;
    }
  }

  return function take(line: InputLine): void {
    if (line.kind === 'user') takeMessage(line);
    else if (line.kind === 'request') takeRequest(line.id, line.request);
    else if (line.kind === 'answer') takeAnswer(line.id, line.response);
  };
}
