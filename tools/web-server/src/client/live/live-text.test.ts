import { TextDelta } from '@callboard/contract';
import { expect, it } from 'vitest';
import { addDeltas, dropBlocks, dropStage } from './live-text.ts';

const delta = (stageId: string, blockId: string, text: string) =>
  TextDelta.parse({ stageId, blockId, kind: 'text', text, parentToolUseId: null });

it('puts the pieces of each block together, in the order in which the blocks began', () => {
  const live = addDeltas({}, [
    delta('S1', 'a', 'Hel'),
    delta('S1', 'b', 'x'),
    delta('S1', 'a', 'lo'),
    delta('S2', 'c', 'y'),
  ]);
  expect(live.S1?.map(({ blockId, text }) => [blockId, text])).toEqual([
    ['a', 'Hello'],
    ['b', 'x'],
  ]);
  expect(live.S2).toHaveLength(1);
});

it('drops the blocks that are stored, and only those', () => {
  const live = addDeltas({}, [delta('S1', 'a', 'x'), delta('S1', 'b', 'y')]);
  expect(dropBlocks(live, 'S1', new Set(['a'])).S1?.map((block) => block.blockId)).toEqual(['b']);
});

it('is the same object when there is nothing to drop', () => {
  const live = addDeltas({}, [delta('S1', 'a', 'x')]);
  expect(dropBlocks(live, 'S1', new Set(['z']))).toBe(live);
  expect(dropBlocks(live, 'S9', new Set(['a']))).toBe(live);
});

it('forgets a stage and no other', () => {
  const live = addDeltas({}, [delta('S1', 'a', 'x'), delta('S2', 'b', 'y')]);
  expect(Object.keys(dropStage(live, 'S1'))).toEqual(['S2']);
});
