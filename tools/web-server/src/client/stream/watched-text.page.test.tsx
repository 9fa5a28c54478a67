import { StageId } from '@callboard/contract';
import { expect, it, onTestFinished } from 'vitest';
import { createQueryClient } from '../app/query-client.ts';
import { boardQuery } from '../data/queries.ts';
import { startPageServer } from '../test/page-server.ts';
import { board } from '../test/samples.ts';
import { startStream } from './start-stream.ts';

function start() {
  const server = startPageServer(() => board({ stages: [] }));
  const cache = createQueryClient();
  const stream = startStream(cache);
  onTestFinished(() => {
    stream.stop();
    cache.clear();
    server.close();
  });
  cache.setQueryData(boardQuery.queryKey, board({ stages: [] }));
  return { server, stream };
}

it('opens the stream anew when another web server answers for a stage’s text, and watches the stage there, once in a while', async () => {
  const { server, stream } = start();
  stream.watch(StageId.parse('STAGE-1'));
  await expect.poll(() => server.watched).toEqual([{ stream: 1, stageIds: ['STAGE-1'] }]);

  server.change();
  stream.watch(StageId.parse('STAGE-2'));
  const onSecond = { stream: 2, stageIds: ['STAGE-1', 'STAGE-2'] };
  await expect.poll(() => server.watched.slice(1)).toEqual([onSecond]);
  await expect.poll(() => stream.store.getState().connection).toBe('open');

  // Servers in turn: the stream is kept for now, and the text comes once it is complete.
  server.change();
  stream.watch(StageId.parse('STAGE-3'));
  server.pass('orchestrator-status', { status: 'unreachable' });
  await expect.poll(() => stream.store.getState().orchestrator).toBe('unreachable');
  expect(server.watched.slice(1)).toEqual([onSecond]);
});
