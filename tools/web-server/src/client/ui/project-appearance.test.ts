import { expect, it } from 'vitest';
import { projectAppearance } from './marks.tsx';

it('gives a project the same look each time', () => {
  expect(projectAppearance('storefront')).toEqual(projectAppearance('storefront'));
});

it('uses every shape and every tint, and tells names apart that differ in one letter', () => {
  const checks = Array.from({ length: 400 }, (_, index) => projectAppearance(`shop-${index}`));
  expect(new Set(checks.map(({ shape }) => shape)).size).toBe(8);
  expect([...new Set(checks.map(({ tint }) => tint))].toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  const distinct = new Set(
    ['shop', 'shap', 'shopA', 'shopB', 'shopC'].map((name) => JSON.stringify(projectAppearance(name))),
  );
  expect(distinct.size).toBeGreaterThanOrEqual(4);
});
