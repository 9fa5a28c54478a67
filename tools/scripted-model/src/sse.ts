import type { ReadyBlock, Reply } from './reply.ts';

/** One server-sent event of the Messages API. */
export type StreamEvent = { type: string } & Record<string, unknown>;

/** The events of a streamed reply, in order. `chunkChars` bounds the text of each delta. */
export function streamEvents(reply: Reply, chunkChars?: number): StreamEvent[] {
  const { output_tokens, ...inputUsage } = reply.usage;
  return [
    { type: 'message_start', message: { ...emptyMessage(reply), usage: { ...inputUsage, output_tokens: 1 } } },
    { type: 'ping' },
    ...reply.blocks.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: emptyBlock(block) },
      ...deltasOf(block, chunkChars).map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: reply.stopReason, stop_sequence: null },
      usage: { ...inputUsage, output_tokens },
    },
    { type: 'message_stop' },
  ];
}

/** Encodes an event for the wire. */
export function renderEvent(event: StreamEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The same reply as one JSON object, for a request without streaming. */
export function wholeMessage(reply: Reply): Record<string, unknown> {
  return {
    ...emptyMessage(reply),
    content: reply.blocks.map(wholeBlock),
    stop_reason: reply.stopReason,
    usage: reply.usage,
  };
}

/** Splits text into pieces of at most `size` characters, never within a surrogate pair. */
export function chunkText(text: string, size = Number.POSITIVE_INFINITY): string[] {
  if (text.length <= size) return text === '' ? [] : [text];
  const characters = Array.from(text);
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, index) =>
    characters.slice(index * size, (index + 1) * size).join(''),
  );
}

/** Splits bytes into pieces of at most `size`, even within a character. */
export function chunkBytes(bytes: Uint8Array, size = Number.POSITIVE_INFINITY): Uint8Array[] {
  if (bytes.length <= size) return bytes.length === 0 ? [] : [bytes];
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

function emptyMessage({ id, model }: Reply): Record<string, unknown> {
  return { id, type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null };
}

function emptyBlock(block: ReadyBlock): Record<string, unknown> {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: '' };
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, input: {} };
  }
}

function deltasOf(block: ReadyBlock, chunkChars?: number): Record<string, unknown>[] {
  switch (block.type) {
    case 'text':
      return chunkText(block.text, chunkChars).map((text) => ({ type: 'text_delta', text }));
    case 'thinking':
      return [
        ...chunkText(block.thinking, chunkChars).map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature: block.signature },
      ];
    case 'tool_use':
      return chunkText(block.inputJson, chunkChars).map((part) => ({ type: 'input_json_delta', partial_json: part }));
  }
}

function wholeBlock(block: ReadyBlock): Record<string, unknown> {
  if (block.type !== 'tool_use') return block;
  return { type: 'tool_use', id: block.id, name: block.name, input: parseOrEmpty(block.inputJson) };
}

function parseOrEmpty(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}
