import { setTimeout as sleep } from 'node:timers/promises';
import type { EmulatedProcess, Message } from './emulated-process.ts';
import { isRecord } from './input.ts';
import { MODEL, type Printer, type ToolUse } from './printer.ts';
import { asksFirst, runTool } from './tools.ts';

const REJECTED =
  "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.";

class Interrupted extends Error {}

/** Prints a message as the CLI does with `--replay-user-messages`. */
export function replay(printer: Printer, { uuid, text }: Message): void {
  const message = { role: 'user', content: text };
  printer.frame({ type: 'user', message, parent_tool_use_id: null, uuid, isReplay: true });
}

/** Runs one turn on these messages. Resolves with whether it failed. */
export async function runTurn(process: EmulatedProcess, batch: Message[], signal: AbortSignal): Promise<boolean> {
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
