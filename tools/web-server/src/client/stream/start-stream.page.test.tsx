import { MessageId } from '@callboard/contract';
import { expect, it, onTestFinished } from 'vitest';
import { createQueryClient } from '../app/query-client.ts';
import { boardQuery, queueQuery } from '../data/queries.ts';
import { startPageServer } from '../test/page-server.ts';
import { at, board, stage } from '../test/samples.ts';
import { startStream } from './start-stream.ts';

it('hears of what happened while the stream was lost, also if the board was loaded meanwhile', async () => {
  const { id } = stage('STAGE-1');
  const messageId = MessageId.parse('a');
  let view = board({ stages: [{ stage: stage('STAGE-1') }] });
  const server = startPageServer(() => view);
  const cache = createQueryClient();
  const stream = startStream(cache);
  onTestFinished(() => {
    stream.stop();
    cache.clear();
    server.close();
  });
  await cache.fetchQuery(boardQuery);
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
