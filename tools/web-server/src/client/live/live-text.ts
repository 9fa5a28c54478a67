import type { TextDelta } from '@callboard/contract';

/** Text that streams and is not in the transcript yet, by stage, in the order in which its blocks began. */
export type LiveText = Readonly<Record<string, readonly LiveBlock[]>>;

export interface LiveBlock {
  blockId: string;
  kind: 'text' | 'thinking';
  text: string;
  parentToolUseId: string | null;
}

export function addDeltas(live: LiveText, deltas: readonly TextDelta[]): LiveText {
  return deltas.reduce(addDelta, live);
}

function addDelta(live: LiveText, { stageId, blockId, kind, text, parentToolUseId }: TextDelta): LiveText {
  const blocks = live[stageId] ?? [];
  const index = blocks.findIndex((block) => block.blockId === blockId);
  const old = blocks[index];
  const next =
    old === undefined
      ? [...blocks, { blockId, kind, text, parentToolUseId }]
      : blocks.with(index, { ...old, text: old.text + text });
  return { ...live, [stageId]: next };
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
