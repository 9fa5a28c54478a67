import { TextDelta } from '@callboard/contract';
import { expect, it } from 'vitest';
import { addDeltas, dropBlocks, dropStage } from './stream-store.ts';

const delta = (stageId: string, blockId: string, text: string, offset = 0) =>
  TextDelta.parse({ stageId, blockId, kind: 'text', text, offset, parentToolUseId: null });

it('joins the pieces of each block, in the order the blocks began', () => {
  const live = addDeltas({}, [
    delta('S1', 'a', 'Hel'),
    delta('S1', 'b', 'x'),
    delta('S1', 'a', 'lo', 3),
    delta('S2', 'c', 'y'),
  ]);
  expect(live.S1?.map(({ blockId, text }) => [blockId, text])).toEqual([
    ['a', 'Hello'],
    ['b', 'x'],
  ]);
  expect(live.S2).toHaveLength(1);
});

it('drops stored blocks only', () => {
  const live = addDeltas({}, [delta('S1', 'a', 'x'), delta('S1', 'b', 'y')]);
  expect(dropBlocks(live, 'S1', new Set(['a'])).S1?.map((block) => block.blockId)).toEqual(['b']);
});

it('returns the same object if there is nothing to drop', () => {
  const live = addDeltas({}, [delta('S1', 'a', 'x')]);
  expect(dropBlocks(live, 'S1', new Set(['z']))).toBe(live);
  expect(dropBlocks(live, 'S9', new Set(['a']))).toBe(live);
});

it('drops the text of one stage only', () => {
  const live = addDeltas({}, [delta('S1', 'a', 'x'), delta('S2', 'b', 'y')]);
  expect(Object.keys(dropStage(live, 'S1'))).toEqual(['S2']);
});

it.each([
  ['what came before is fetched later', [['lo', 3]], { text: 'lo', start: 3 }],
  [
    'and put before it',
    [
      ['lo', 3],
      ['Hel', 0],
    ],
    { text: 'Hello', start: 0 },
  ],
  [
    'as much of it as there is by then',
    [
      ['lo', 3],
      ['Hello wo', 0],
      ['rld', 8],
    ],
    { text: 'Hello world', start: 0 },
  ],
  [
    'which may be less than this page has',
    [
      ['Hello', 0],
      ['Hel', 0],
    ],
    { text: 'Hello', start: 0 },
  ],
  [
    'what comes twice counts once',
    [
      ['Hel', 0],
      ['lo', 3],
      ['lo', 3],
    ],
    { text: 'Hello', start: 0 },
  ],
  [
    'behind a gap a new text begins',
    [
      ['Hel', 0],
      ['world', 6],
    ],
    { text: 'world', start: 6 },
  ],
] satisfies [string, [string, number][], object][])('puts each piece in its place: %s', (_, pieces, whole) => {
  const live = addDeltas(
    {},
    pieces.map(([text, offset]) => delta('S1', 'a', text, offset)),
  );
  expect(live.S1).toMatchObject([whole]);
});
