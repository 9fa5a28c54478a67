import { StageId } from '@callboard/contract';
import { expect, it } from 'vitest';
import { createLiveText } from './live-now.ts';

const stageId = StageId.parse('STAGE-1');
const piece = (blockId: string, text: string, parentToolUseId: string | null = null) =>
  ({ blockId, kind: 'text', text, parentToolUseId }) as const;

it('returns each unfinished block from its beginning, and the offset of each piece', () => {
  const live = createLiveText(stageId);
  expect(live.add(piece('m1:0', 'Hel'))).toMatchObject({ stageId, offset: 0 });
  expect(live.add(piece('m9:0', 'beside', 'agent'))).toMatchObject({ offset: 0 });
  expect(live.add(piece('m1:0', 'lo'))).toMatchObject({ text: 'lo', offset: 3 });
  expect(live.blocks()).toMatchObject([
    { blockId: 'm1:0', text: 'Hello', offset: 0 },
    { blockId: 'm9:0', text: 'beside', offset: 0, parentToolUseId: 'agent' },
  ]);
});

it('drops a block when the same writer begins another one, and all blocks when it is cleared', () => {
  const live = createLiveText(stageId);
  for (const one of [piece('m1:0', 'a'), piece('m9:0', 'b', 'agent'), piece('m1:1', 'c')]) live.add(one);
  expect(live.blocks().map(({ blockId }) => blockId)).toEqual(['m9:0', 'm1:1']);
  live.clear();
  expect(live.blocks()).toEqual([]);
});

it('drops the text of an overlong block, and still counts its length', () => {
  const live = createLiveText(stageId);
  for (let n = 0; n < 3; n += 1) live.add(piece('m1:0', 'x'.repeat(1_000_000)));
  expect(live.blocks()).toEqual([]);
  expect(live.add(piece('m1:0', 'y')).offset).toBe(3_000_000);
});
