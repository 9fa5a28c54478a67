import { MessageId, type RewindRecord } from '@callboard/contract';
import { expect, it } from 'vitest';
import { at, entry } from '../../test/samples.ts';
import { foldRewound, rewoundBy } from './item-parts.tsx';
import { growItems } from './transcript-items.ts';

const MESSAGE = MessageId.parse('00000000-0000-7000-8000-000000000001');
const gone = (id: string, from: number, to: number, change: Partial<RewindRecord> = {}): RewindRecord => ({
  id,
  messageId: MESSAGE,
  at: at(9),
  by: 'Ada',
  from,
  to,
  files: true,
  conversation: true,
  canUndo: false,
  ...change,
});
const text = (index: number) => entry(index, 'text', { text: `t${index}`, blockId: `b${index}` });
const grown = growItems([1, 2, 3, 4, 5, 6, 7].map(text));
const fold = (rewinds: RewindRecord[], open: string[] = []) =>
  foldRewound(grown, rewinds, ({ id }) => open.includes(id)).keys;

it('puts one line in place of what was taken back, and shows the entries below it once it is open', () => {
  expect(fold([gone('one', 3, 5)])).toEqual(['block:b1', 'block:b2', 'taken-back:one', 'block:b6', 'block:b7']);
  expect(fold([gone('one', 3, 5)], ['one'])).toHaveLength(8);
  expect(fold([gone('one', 1, 7)])).toEqual(['taken-back:one']);
  expect(fold([gone('one', 1, 2), gone('two', 3, 7)])).toEqual(['taken-back:one', 'taken-back:two']);
});

it('shows of one within another the outer one', () => {
  const both = [gone('inner', 4, 5), gone('outer', 2, 6)];
  expect(fold(both)).toEqual(['block:b1', 'taken-back:outer', 'block:b7']);
  expect(fold(both, ['outer'])).toHaveLength(8);
  expect(rewoundBy(both, 4)?.id).toBe('outer');
});

it('folds nothing if only the files went back', () => {
  expect(foldRewound(grown, [gone('one', 3, 5, { conversation: false })], () => false)).toBe(grown);
});
