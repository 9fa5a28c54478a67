import { expect, it } from 'vitest';
import { type BoardEvent, CommandFrame, StageId } from '../index.ts';
import { createInProcessTransport } from './in-process-transport.ts';

const log: BoardEvent[] = [1, 2, 3].map((seq) => ({
  type: 'transcript-appended',
  seq,
  at: '2026-01-02T03:04:05.000Z',
  data: { stageId: StageId.parse('STAGE-1'), index: seq },
}));

it('continues after a page that ended before its limit, without waiting for an event', async () => {
  const done = new AbortController();
  const transport = createInProcessTransport({
    actor: { name: 'Ada' },
    onEvent: () => () => undefined,
    async execute(text) {
      const since = Number(CommandFrame.parse(JSON.parse(text)).since);
      return {
        type: 'reply',
        id: 'in-process',
        ok: true,
        data: { events: log.slice(since, since + 1), resync: false },
      };
    },
  });
  const seen: number[] = [];
  for await (const item of transport.events({ since: 0 }, done.signal)) {
    if ('seq' in item) seen.push(item.seq);
    if (seen.length === log.length) done.abort();
  }
  expect(seen).toEqual([1, 2, 3]);
});
