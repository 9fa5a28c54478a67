import type { TextDelta } from '@callboard/contract';

/** Text that streams and is not in the transcript yet, by stage, in the order in which its blocks began. */
export type LiveText = Readonly<Record<string, readonly LiveBlock[]>>;

export interface LiveBlock {
  blockId: string;
  kind: 'text' | 'thinking';
  /** From `start` on: what came before went by while nobody here looked, until it is fetched. */
  text: string;
  start: number;
  parentToolUseId: string | null;
}

export function addDeltas(live: LiveText, deltas: readonly TextDelta[]): LiveText {
  return deltas.reduce(addDelta, live);
}

function addDelta(live: LiveText, { stageId, blockId, kind, text, offset, parentToolUseId }: TextDelta): LiveText {
  const blocks = live[stageId] ?? [];
  const index = blocks.findIndex((block) => block.blockId === blockId);
  const old = blocks[index];
  const next =
    old === undefined
      ? [...blocks, { blockId, kind, text, start: offset, parentToolUseId }]
      : blocks.with(index, { ...old, ...joined(old, { text, start: offset }) });
  return { ...live, [stageId]: next };
}

type Span = Pick<LiveBlock, 'text' | 'start'>;

/** Both together; where something is missing between them, the later one. What both have comes once. */
function joined(one: Span, other: Span): Span {
  const [first, second] = one.start <= other.start ? [one, other] : [other, one];
  const overlap = first.start + first.text.length - second.start;
  if (overlap < 0) return second;
  return { start: first.start, text: first.text + second.text.slice(overlap) };
}

/** Without the blocks that are stored by now. */
export function dropBlocks(live: LiveText, stageId: string, stored: ReadonlySet<string>): LiveText {
  const blocks = live[stageId];
  if (blocks === undefined || !blocks.some((block) => stored.has(block.blockId))) return live;
  return { ...live, [stageId]: blocks.filter((block) => !stored.has(block.blockId)) };
}

export function dropStage(live: LiveText, stageId: string): LiveText {
  const { [stageId]: _, ...rest } = live;
  return rest;
}
