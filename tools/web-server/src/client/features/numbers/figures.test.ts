import { expect, it } from 'vitest';
import { csvOf, daysBetween, formatCell, type TableFigure } from './figures.ts';

const table: TableFigure = {
  columns: [
    { title: 'Stage', file: 'stage', measure: 'text' },
    { title: 'From', file: 'from', measure: 'time' },
    { title: 'Waited', file: 'waited_seconds', measure: 'duration' },
    { title: 'Cost', file: 'cost_usd', measure: 'money' },
  ],
  rows: [
    ['=HYPERLINK("https://evil.example")', '2026-01-02T03:04:05.000Z', 90_500, 0.1 + 0.2],
    ['+1', null, 0, 4],
    ['Login, form', null, 1, 4],
  ],
};

it('writes a CSV file in units that a program reads, and no cell that a spreadsheet runs', () => {
  expect(csvOf(table).split('\r\n')).toEqual([
    'stage,from,waited_seconds,cost_usd',
    `"'=HYPERLINK(""https://evil.example"")",2026-01-02T03:04:05.000Z,90.5,0.3`,
    `'+1,,0,4`,
    '"Login, form",,0.001,4',
    '',
  ]);
});

it('writes cells for people', () => {
  const [stage, , waited, cost] = table.columns;
  if (stage === undefined || waited === undefined || cost === undefined) throw new Error('a column is missing');
  expect([
    formatCell(stage, '=1'),
    formatCell(waited, 90_500),
    formatCell(cost, 4.2),
    formatCell(waited, null),
  ]).toEqual([...['=1', '1 min 30 s', '$4.20', '']]);
});

it('lists all days, also over a change of the clocks and of the year', () => {
  expect(daysBetween('2025-12-30', '2026-01-02')).toEqual(['2025-12-30', '2025-12-31', '2026-01-01', '2026-01-02']);
  expect(daysBetween('2026-03-28', '2026-03-30')).toHaveLength(3);
});
