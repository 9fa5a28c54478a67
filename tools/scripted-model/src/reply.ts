import { randomUUID } from 'node:crypto';
import { type MessagesRequest, textsOf } from './messages-request.ts';
import type { Block, Step, StopReason, Usage } from './script.ts';

/** A content block that is ready to send: with ids, placeholders filled, and the input as JSON text. */
export type ReadyBlock =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'tool_use'; id: string; name: string; inputJson: string };

/** A whole reply of the model. */
export type Reply = {
  id: string;
  model: string;
  blocks: ReadyBlock[];
  stopReason: StopReason;
  usage: Required<{ [Key in keyof Usage]: number }>;
};

const PLAN_FILE = /[^\s"'`()<>]*\/\.claude\/plans\/[^\s"'`()<>]+?\.md/g;
const PLACEHOLDER = '{{planFile}}';

/** Turns a step into the reply to one request. */
export function buildReply(step: Step, request: MessagesRequest): Reply {
  const blocks = blocksOf(step).map((block) => prepare(block, request));
  const hasTools = blocks.some((block) => block.type === 'tool_use');
  return {
    id: `msg_${uniqueId()}`,
    model: request.model,
    blocks,
    stopReason: step.stopReason ?? (hasTools ? 'tool_use' : 'end_turn'),
    usage: {
      input_tokens: step.usage?.input_tokens ?? estimateTokens(request),
      output_tokens: step.usage?.output_tokens ?? estimateTokens(blocks),
      cache_creation_input_tokens: step.usage?.cache_creation_input_tokens ?? 0,
      cache_read_input_tokens: step.usage?.cache_read_input_tokens ?? 0,
    },
  };
}

/** Whether a step has any content. */
export function hasContent(step: Step): boolean {
  return blocksOf(step).length > 0;
}

/** Estimates a token per four characters. */
export function estimateTokens(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / 4);
}

/** The newest plan file that the CLI named to the model, in the history or else in the system prompt. */
function findPlanFile(request: MessagesRequest): string | undefined {
  const texts = [...textsOf(request.system), ...request.messages.flatMap((message) => JSON.stringify(message.content))];
  return texts.flatMap((text) => text.match(PLAN_FILE) ?? []).at(-1);
}

function blocksOf(step: Step): Block[] {
  if (step.blocks !== undefined) return step.blocks;
  return [
    ...(step.thinking === undefined ? [] : [{ type: 'thinking' as const, thinking: step.thinking }]),
    ...(step.text === undefined ? [] : [{ type: 'text' as const, text: step.text }]),
    ...(step.tools ?? []).map((tool) => ({ type: 'tool_use' as const, ...tool })),
  ];
}

function prepare(block: Block, request: MessagesRequest): ReadyBlock {
  switch (block.type) {
    case 'text':
      return block;
    case 'thinking':
      return { type: 'thinking', thinking: block.thinking, signature: block.signature ?? `sig${uniqueId()}` };
    case 'tool_use': {
      const inputJson = fillPlanFile(block.rawInput ?? JSON.stringify(block.input ?? {}), request);
      return { type: 'tool_use', id: block.id ?? `toolu_${uniqueId()}`, name: block.name, inputJson };
    }
  }
}

function fillPlanFile(inputJson: string, request: MessagesRequest): string {
  if (!inputJson.includes(PLACEHOLDER)) return inputJson;
  const planFile = findPlanFile(request);
  if (planFile === undefined) throw new Error('the request names no plan file');
  return inputJson.replaceAll(PLACEHOLDER, () => JSON.stringify(planFile).slice(1, -1));
}

function uniqueId(): string {
  return randomUUID().replaceAll('-', '');
}
