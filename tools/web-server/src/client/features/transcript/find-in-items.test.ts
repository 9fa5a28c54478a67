import { expect, it } from 'vitest';
import { entry } from '../../test/samples.ts';
import { findInItems, foldKeys, positionOfEntry } from './transcript-find.tsx';
import { transcriptItems } from './transcript-items.ts';

const use = (index: number, toolUseId: string, toolName: string, input: Record<string, string>) =>
  entry(index, 'tool-use', { toolUseId, toolName, input });
const result = (index: number, toolUseId: string, text: string) =>
  entry(index, 'tool-result', { toolUseId, isError: false, text, allowedBy: null, sandboxFailure: null });
const text = (index: number, text: string) => entry(index, 'text', { text, blockId: `b${index}` });

const items = transcriptItems([
  text(1, 'The Needle (first).'),
  use(2, 'run', 'Bash', { command: 'npm test' }),
  result(3, 'run', 'a needle in the output'),
  use(4, 'agent', 'Task', { description: 'Look for it' }),
  entry(5, 'tool-use', { toolUseId: 'inner', toolName: 'Grep', input: { pattern: 'needle' } }, 'agent'),
  use(6, 'r1', 'Read', { file_path: '/a' }),
  result(7, 'r1', ''),
  use(8, 'r2', 'Read', { file_path: '/needle' }),
  result(9, 'r2', ''),
  text(10, 'Nothing here.'),
]);

it('finds a text in whatever case, also in what is folded, and says what to open', () => {
  expect(findInItems(items, 'needle')).toEqual([
    { row: 0, open: [] },
    { row: 1, open: ['run'] },
    { row: 2, open: ['agent'] },
    { row: 3, open: ['lookups:r1'] },
  ]);
});

it('takes what is written literally, and nothing for everything', () => {
  expect(findInItems(items, '(first).')).toHaveLength(1);
  expect(findInItems(items, '  ')).toEqual([]);
});

it('names everything that may be open', () => {
  expect(foldKeys(items)).toEqual(['run', 'agent', 'inner', 'lookups:r1', 'r1', 'r2']);
});

it.each([
  [text(1, ''), { row: 0, open: [] }],
  [result(3, 'run', ''), { row: 1, open: ['run'] }],
  [use(5, 'inner', 'Grep', {}), { row: 2, open: ['agent', 'inner'] }],
  [result(9, 'r2', ''), { row: 3, open: ['lookups:r1', 'r2'] }],
  [text(99, ''), null],
])('finds the row of an entry, and what to open there', (entry, place) => {
  expect(positionOfEntry(items, entry)).toEqual(place);
});
