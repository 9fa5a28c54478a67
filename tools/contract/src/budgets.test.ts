import { expect, it } from 'vitest';
import { Budget, BudgetBody, type BudgetScope, covers, nearLimit, scopeKey, spentLimit, spentText } from './budgets.ts';
import { StageId } from './ids.ts';

const budget = (usd: number | null, tokens: number | null, spent: Budget['spent']) =>
  Budget.parse({ scope: {}, usd, tokens, spent });

it('warns from 80 % on, and is spent at 100 %, of the fuller limit', () => {
  expect(nearLimit(budget(5, null, { usd: 3.99, tokens: 1e9 }))).toBeNull();
  expect(nearLimit(budget(5, null, { usd: 4, tokens: 0 }))).toMatchObject({ unit: 'usd', spent: 4, limit: 5 });
  expect(spentLimit(budget(5, null, { usd: 4.999, tokens: 0 }))).toBeNull();
  expect(spentLimit(budget(5, null, { usd: 5, tokens: 0 }))).toMatchObject({ unit: 'usd' });
  expect(spentLimit(budget(5, 100, { usd: 1, tokens: 120 }))).toMatchObject({ unit: 'tokens', spent: 120 });
  expect(spentLimit(budget(null, 100, { usd: 1_000, tokens: 99 }))).toBeNull();
});

it('says amounts in words', () => {
  expect(spentText({ unit: 'usd', spent: 5.018, limit: 5 })).toBe('$5.02 of $5.00');
  expect(spentText({ unit: 'usd', spent: 0.0042, limit: 0.005 })).toBe('$0.0042 of $0.0050');
  expect(spentText({ unit: 'usd', spent: 0, limit: 0.1 })).toBe('$0.00 of $0.10');
  expect(spentText({ unit: 'tokens', spent: 12_345, limit: 10_000 })).toBe('12,345 of 10,000 tokens');
});

it('has a scope for a stage, a project, a day, and everything, and no other', () => {
  const keys = [{ stageId: 'S1' }, { projectId: 'shop' }, { day: true }, {}];
  expect(keys.map((scope) => scopeKey(BudgetBody.parse({ scope }).scope))).toEqual([
    'stage:S1',
    'project:shop',
    'day',
    'all',
  ]);
  for (const scope of [{ stageId: 'S1', projectId: 'shop' }, { day: false }, { month: true }])
    expect(BudgetBody.safeParse({ scope }).success).toBe(false);
  for (const usd of [0, -1, Number.NaN, 1e9]) expect(BudgetBody.safeParse({ scope: {}, usd }).success).toBe(false);
});

it('covers what is in its scope', () => {
  const of = { stageId: 'S1', projectId: 'shop' };
  const stageId = StageId.parse('S1');
  const scopes: BudgetScope[] = [{ stageId }, { day: true }, {}];
  expect(scopes.map((scope) => covers(scope, of))).toEqual([true, true, true]);
  expect(covers({ stageId }, { ...of, stageId: 'S2' })).toBe(false);
});
