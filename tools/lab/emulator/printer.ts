import { randomUUID } from 'node:crypto';
import type { Step } from '../../scripted-model/src/script.ts';

/** Prints lines as the CLI does, each with the id of the conversation. */
export interface Printer {
  /** A line that belongs to no conversation: the control frames. */
  frame(line: object): void;
  message(line: object): void;
  lifecycle(uuid: string, state: 'queued' | 'started' | 'completed' | 'cancelled'): void;
  toolResult(toolUseId: string, content: string, isError: boolean): void;
  /** The lines that `reply` would print, to be printed later one by one. */
  linesOf(step: Step): string[];
  /** A line of `linesOf`. */
  line(text: string): void;
  /** Prints one reply: streamed, then as a whole. Returns its tool calls. */
  reply(step: Step): ToolUse[];
}

export interface ToolUse {
  id: string;
  name: string;
  input: Record<string, unknown>;
}

type Block = { type: 'text'; text: string } | { type: 'thinking'; thinking: string } | ({ type: 'tool_use' } & ToolUse);

export const MODEL = 'emulated-model';

export function createPrinter(write: (text: string) => void, sessionId: string): Printer {
  const frame = (line: object): void => write(`${JSON.stringify(line)}\n`);
  const message = (line: object): void => frame({ ...line, session_id: sessionId, uuid: randomUUID() });

  function streamed(event: object, api_message_id: string): void {
    message({ type: 'stream_event', event, parent_tool_use_id: null, api_message_id });
  }

  function printBlock(block: Block, index: number, id: string, chunkChars: number): void {
    streamed({ type: 'content_block_start', index, content_block: { ...block, ...EMPTY[block.type] } }, id);
    for (const delta of deltasOf(block, chunkChars)) streamed({ type: 'content_block_delta', index, delta }, id);
    const content = [block];
    message({
      type: 'assistant',
      message: { id, type: 'message', role: 'assistant', model: MODEL, content },
      parent_tool_use_id: null,
    });
    streamed({ type: 'content_block_stop', index }, id);
  }

  return {
    frame,
    message,
    line: write,
    linesOf(step) {
      const lines: string[] = [];
      createPrinter((text) => lines.push(text), sessionId).reply(step);
      return lines;
    },
    lifecycle: (command_uuid, state) => message({ type: 'command_lifecycle', command_uuid, state }),
    toolResult(tool_use_id, content, is_error) {
      const block = { type: 'tool_result', tool_use_id, content, is_error };
      message({ type: 'user', message: { role: 'user', content: [block] }, parent_tool_use_id: null });
    },
    reply(step) {
      const id = `msg_${randomUUID().replaceAll('-', '')}`;
      const blocks = blocksOf(step);
      streamed({ type: 'message_start', message: { id, role: 'assistant', content: [] } }, id);
      for (const [index, block] of blocks.entries())
        printBlock(block, index, id, step.chunkChars ?? Number.POSITIVE_INFINITY);
      streamed({ type: 'message_stop' }, id);
      return blocks.filter((block) => block.type === 'tool_use');
    },
  };
}

const EMPTY = { text: { text: '' }, thinking: { thinking: '' }, tool_use: { input: {} } };

function blocksOf({ thinking, text, tools = [] }: Step): Block[] {
  return [
    ...(thinking === undefined ? [] : [{ type: 'thinking' as const, thinking }]),
    ...(text === undefined ? [] : [{ type: 'text' as const, text }]),
    ...tools.map(({ id = `toolu_${randomUUID().replaceAll('-', '')}`, name, input }) => ({
      type: 'tool_use' as const,
      id,
      name,
      input,
    })),
  ];
}

function deltasOf(block: Block, chunkChars: number): object[] {
  switch (block.type) {
    case 'text':
      return piecesOf(block.text, chunkChars).map((text) => ({ type: 'text_delta', text }));
    case 'thinking':
      return piecesOf(block.thinking, chunkChars).map((thinking) => ({ type: 'thinking_delta', thinking }));
    case 'tool_use':
      return [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }];
  }
}

function piecesOf(text: string, size: number): string[] {
  if (text.length <= size) return [text];
  return Array.from({ length: Math.ceil(text.length / size) }, (_, n) => text.slice(n * size, (n + 1) * size));
}
