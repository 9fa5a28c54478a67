import { expect, it } from 'vitest';
import { at, request } from '../../test/samples.ts';
import { overlayQueue } from './presentation.tsx';

const first = request('STAGE-1', 'a', { createdAt: at(1) });
const second = request('STAGE-2', 'b', { createdAt: at(2) });
const third = request('STAGE-1', 'c', { createdAt: at(3) });
const ids = (...args: Parameters<typeof overlayQueue>) => overlayQueue(...args).map((r) => r.requestId);

it('starts with the longest-waiting request', () => {
  expect(ids([third, first, second], new Set(), null)).toEqual(['a', 'b', 'c']);
});

it('leaves out the requests of the stage whose page is open', () => {
  expect(ids([first, second, third], new Set(), 'STAGE-1')).toEqual(['b']);
});

it('leaves out requests that were set aside, but not newer ones', () => {
  const aside = new Set(['STAGE-1/a', 'STAGE-2/b']);
  expect(ids([first, second], aside, null)).toEqual([]);
  expect(ids([first, second, third], aside, null)).toEqual(['c']);
});
