import { type BoardView, MessageId, StageId } from '@callboard/contract';
import { expect, it, onTestFinished } from 'vitest';
import { boardQuery, createQueryClient, queueQuery } from '../data/queries.ts';
import { startPageServer } from '../test/page-server.ts';
import { at, board, stage } from '../test/samples.ts';
import { startStream } from './start-stream.ts';

/** The event stream of a page, which opens once the board is loaded. */
async function begin(view: () => BoardView = () => board({ stages: [] })) {
  const server = startPageServer(view);
  const cache = createQueryClient();
  const stream = startStream(cache);
  onTestFinished(() => {
    stream.stop();
    cache.clear();
    server.close();
  });
  await cache.fetchQuery(boardQuery);
  return { server, cache, stream };
}

it('hears of what happened while the stream was lost, also if the board was loaded meanwhile', async () => {
  const { id } = stage('STAGE-1');
  const messageId = MessageId.parse('a');
  let view = board({ stages: [{ stage: stage('STAGE-1') }] });
  const { server, cache } = await begin(() => view);
  const { queryKey } = queueQuery(id);
  cache.setQueryData(queryKey, { queue: [], held: false });
  const queued = () => cache.getQueryData(queryKey)?.queue.map((message) => message.messageId);
  const said = { text: 'Go on', by: 'Ada', createdAt: at(1), position: 1, attachments: [], isCommand: false };
  server.emit('message-queued', { stageId: id, messageId, ...said });
  await expect.poll(queued).toEqual([messageId]);

  server.cutStreams();
  server.emit('message-sent', { stageId: id, messageId, text: said.text });
  view = { ...view, seq: view.seq + 2 };
  await cache.fetchQuery({ ...boardQuery, staleTime: 0 });
  await expect.poll(queued).toEqual([]);
});

it('opens the stream anew when another web server answers for a stage’s text, and watches the stage there, once in a while', async () => {
  const { server, stream } = await begin();
  stream.watch(StageId.parse('STAGE-1'));
  await expect.poll(() => server.watched).toEqual([{ stream: 1, stageIds: ['STAGE-1'] }]);

  server.change();
  stream.watch(StageId.parse('STAGE-2'));
  const onSecond = { stream: 2, stageIds: ['STAGE-1', 'STAGE-2'] };
  await expect.poll(() => server.watched.slice(1)).toEqual([onSecond]);
  await expect.poll(() => stream.store.getState().connection).toBe('open');

  // Servers in turn: the stream is kept for now, and is told once its server has its turn.
  const changeBack = server.change();
  stream.watch(StageId.parse('STAGE-3'));
  server.pass('orchestrator-status', { status: 'unreachable' });
  await expect.poll(() => stream.store.getState().orchestrator).toBe('unreachable');
  expect(server.watched.slice(1)).toEqual([onSecond]);
  changeBack();
  const all = { stream: 2, stageIds: ['STAGE-1', 'STAGE-2', 'STAGE-3'] };
  await expect.poll(() => server.watched.slice(1)).toEqual([onSecond, all]);
});
