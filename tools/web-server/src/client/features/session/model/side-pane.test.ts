import { expect, it } from 'vitest';
import { useSidePane } from './side-pane.ts';

it('keeps the border where both panes can be read', () => {
  const { divide } = useSidePane.getState();
  divide(90);
  expect(useSidePane.getState().share).toBe(75);
  divide(10);
  expect(useSidePane.getState().share).toBe(35);
  divide(60);
  expect(useSidePane.getState().share).toBe(60);
});
