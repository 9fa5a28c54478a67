import type { StageId, TextDelta } from '@callboard/contract';

/** A piece of text as it arrived. */
export type Piece = Omit<TextDelta, 'stageId' | 'offset'>;

/** The unfinished text of a process, for readers who join while it streams. */
export interface LiveText {
  /** Adds a piece and returns it with its offset in its block. */
  add(piece: Piece): TextDelta;
  /** Returns each unfinished block from its beginning, in the order in which they began. */
  blocks(): TextDelta[];
  /** The turn is over: forgets all blocks. */
  clear(): void;
}

/** Only the length of a longer block is kept, to bound memory; nobody writes one. */
const MAX_LENGTH = 2_000_000;

export function createLiveText(stageId: StageId): LiveText {
  const blocks = new Map<string, { first: Piece; texts: string[]; length: number }>();
  return {
    add(piece) {
      let block = blocks.get(piece.blockId);
      if (block === undefined) {
        // The blocks of one writer come one after the other.
        for (const [id, { first }] of blocks) if (first.parentToolUseId === piece.parentToolUseId) blocks.delete(id);
        block = { first: piece, texts: [], length: 0 };
        blocks.set(piece.blockId, block);
      }
      const offset = block.length;
      block.length += piece.text.length;
      if (block.length <= MAX_LENGTH) block.texts.push(piece.text);
      else block.texts = [];
      return { ...piece, stageId, offset };
    },
    blocks: () =>
      [...blocks.values()]
        .filter(({ length }) => length <= MAX_LENGTH)
        .map(({ first, texts }) => ({ ...first, text: texts.join(''), stageId, offset: 0 })),
    clear: () => blocks.clear(),
  };
}
