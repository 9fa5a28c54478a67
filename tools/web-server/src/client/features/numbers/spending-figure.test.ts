import { ProjectId } from '@callboard/contract';
import { expect, it } from 'vitest';
import { namesOf, spendingFigure } from './figures.ts';

const shop = ProjectId.parse('shop');

it('draws the days of the server, also one that has not begun where the person is', () => {
  const days = [{ day: '2026-03-31', projectId: shop, usd: 2, tokens: 10 }];
  const spending = { timeZone: 'Pacific/Auckland', from: '2026-03-30', to: '2026-03-31', days };
  const { chart, table } = spendingFigure({ spending }, { view: 'day', measure: 'money' }, namesOf([], []));
  expect(chart.bars.map(({ key, parts }) => [key, parts])).toEqual([
    ['2026-03-30', {}],
    ['2026-03-31', { shop: 2 }],
  ]);
  expect(table.rows).toEqual([['2026-03-31', 'shop', 2, 10]]);
});
