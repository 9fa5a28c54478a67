import { expect, it } from 'vitest';
import { projectLook } from './project-look.ts';

it('gives a project the same look each time', () => {
  expect(projectLook('storefront')).toEqual(projectLook('storefront'));
});

it('uses every shape and every tint, and tells names apart that differ in one letter', () => {
  const looks = Array.from({ length: 400 }, (_, index) => projectLook(`shop-${index}`));
  expect(new Set(looks.map(({ shape }) => shape)).size).toBe(8);
  expect([...new Set(looks.map(({ tint }) => tint))].toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  const distinct = new Set(
    ['shop', 'shap', 'shopA', 'shopB', 'shopC'].map((name) => JSON.stringify(projectLook(name))),
  );
  expect(distinct.size).toBeGreaterThanOrEqual(4);
});
