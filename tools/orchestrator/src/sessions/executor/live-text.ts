import type { StageId, TextDelta } from '@callboard/contract';

/** A piece of text as it came. */
export type Piece = Omit<TextDelta, 'stageId' | 'offset'>;

/** What a process is writing and has not finished: for those who come while it streams. */
export interface LiveText {
  /** Takes a piece; it gets its place in its block. */
  add(piece: Piece): TextDelta;
  /** Each block that is being written, from its beginning, in the order in which they began. */
  blocks(): TextDelta[];
  /** A turn is over: nothing is being written any more. */
  clear(): void;
}

/** Of a longer block only the length is kept: nobody writes one, and memory has an end. */
const LONGEST = 2_000_000;

export function createLiveText(stageId: StageId): LiveText {
  const blocks = new Map<string, { first: Piece; texts: string[]; length: number }>();
  return {
    add(piece) {
      let block = blocks.get(piece.blockId);
      if (block === undefined) {
        // Those of one writer come one after the other.
        for (const [id, { first }] of blocks) if (first.parentToolUseId === piece.parentToolUseId) blocks.delete(id);
        block = { first: piece, texts: [], length: 0 };
        blocks.set(piece.blockId, block);
      }
      const offset = block.length;
      block.length += piece.text.length;
      if (block.length <= LONGEST) block.texts.push(piece.text);
      else block.texts = [];
      return { ...piece, stageId, offset };
    },
    blocks: () =>
      [...blocks.values()]
        .filter(({ length }) => length <= LONGEST)
        .map(({ first, texts }) => ({ ...first, text: texts.join(''), stageId, offset: 0 })),
    clear: () => blocks.clear(),
  };
}
