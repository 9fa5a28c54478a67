import { expect, it } from 'vitest';
import { useSidePane } from './side-pane.ts';

it('shows the changes beside the transcript until a person closes them', () => {
  expect(useSidePane.getState().tab).toBe('changes');
});

it('keeps the border where both panes can be read', () => {
  const { divide } = useSidePane.getState();
  divide(90);
  expect(useSidePane.getState().share).toBe(75);
  divide(10);
  expect(useSidePane.getState().share).toBe(35);
  divide(60);
  expect(useSidePane.getState().share).toBe(60);
});

it('makes room for what stands beside, and takes none from it', () => {
  const { divide, makeRoom } = useSidePane.getState();
  divide(56);
  makeRoom(59.5);
  expect(useSidePane.getState().share).toBe(40);
  makeRoom(50);
  expect(useSidePane.getState().share).toBe(40);
  makeRoom(90);
  expect(useSidePane.getState().share).toBe(35);
});
