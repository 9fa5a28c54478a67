import type { TextDelta } from '@callboard/contract';

/** Text that is being streamed and is not in the transcript yet: by stage, blocks in the order they began. */
export type StreamingText = Readonly<Record<string, readonly StreamingBlock[]>>;

/** One block of streaming text. */
export interface StreamingBlock {
  blockId: string;
  kind: 'text' | 'thinking';
  /** The text from `start` on. Text before it arrived while nobody watched; it is missing until fetched. */
  text: string;
  start: number;
  parentToolUseId: string | null;
}

/** Adds deltas in order. A delta that is known already changes nothing. */
export function addDeltas(streaming: StreamingText, deltas: readonly TextDelta[]): StreamingText {
  return deltas.reduce(addDelta, streaming);
}

function addDelta(streaming: StreamingText, delta: TextDelta): StreamingText {
  const { stageId, blockId, kind, text, offset, parentToolUseId } = delta;
  const blocks = streaming[stageId] ?? [];
  const index = blocks.findIndex((block) => block.blockId === blockId);
  const old = blocks[index];
  const next =
    old === undefined
      ? [...blocks, { blockId, kind, text, start: offset, parentToolUseId }]
      : blocks.with(index, { ...old, ...joined(old, { text, start: offset }) });
  return { ...streaming, [stageId]: next };
}

type Span = Pick<StreamingBlock, 'text' | 'start'>;

/** Joins two spans, with their overlap once. If there is a gap between them, only the later one is kept. */
function joined(one: Span, other: Span): Span {
  const [first, second] = one.start <= other.start ? [one, other] : [other, one];
  const overlap = first.start + first.text.length - second.start;
  if (overlap < 0) return second;
  return { start: first.start, text: first.text + second.text.slice(overlap) };
}

/** Removes the blocks that are stored by now. */
export function dropBlocks(streaming: StreamingText, stageId: string, stored: ReadonlySet<string>): StreamingText {
  const blocks = streaming[stageId];
  if (blocks === undefined || !blocks.some((block) => stored.has(block.blockId))) return streaming;
  return { ...streaming, [stageId]: blocks.filter((block) => !stored.has(block.blockId)) };
}

/** Removes all streaming text of a stage. */
export function dropStage(streaming: StreamingText, stageId: string): StreamingText {
  const { [stageId]: _, ...rest } = streaming;
  return rest;
}
