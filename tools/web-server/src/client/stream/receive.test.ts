import { QueryClient } from '@tanstack/react-query';
import { expect, it } from 'vitest';
import { boardQuery } from '../data/queries.ts';
import { at, board, stage } from '../test/samples.ts';
import { createReceiver } from './start-stream.ts';
import { createStreamStore } from './stream-store.ts';

function setUp() {
  const cache = new QueryClient();
  cache.setQueryData(boardQuery.queryKey, board({ stages: [] }));
  const { onMessage } = createReceiver(cache, createStreamStore(), () => undefined);
  const take = (name: string, id: number, data: object) =>
    onMessage({ name, id: String(id), at: at(id), data: JSON.stringify(data) });
  const isInvalidated = () => cache.getQueryState(boardQuery.queryKey)?.isInvalidated;
  return { cache, take, isInvalidated };
}

it('applies an event of the server to the board', () => {
  const { cache, take, isInvalidated } = setUp();
  take('stage-created', 2, { stageId: 'STAGE-1', stage: stage('STAGE-1') });
  expect(cache.getQueryData(boardQuery.queryKey)).toMatchObject({ seq: 2, stages: [{ id: 'STAGE-1' }] });
  expect(isInvalidated()).toBe(false);
});

it('reloads everything if an event has an unknown shape', () => {
  const { take, isInvalidated } = setUp();
  take('stage-created', 2, { card: 'STAGE-1' });
  expect(isInvalidated()).toBe(true);
});

it('ignores an event with an unknown name: the server may be newer', () => {
  const { take, isInvalidated } = setUp();
  take('moon-risen', 2, {});
  expect(isInvalidated()).toBe(false);
});

it('reloads everything on a resync, or on an unreadable message', () => {
  for (const data of [{ seq: 3 }, {}]) {
    const { take, isInvalidated } = setUp();
    take('resync', 0, data);
    expect(isInvalidated()).toBe(true);
  }
});
