import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ProjectId } from '@callboard/contract';
import { createHttpTransport, type StreamItem, type Transport } from '@callboard/contract/client';
import { expect, it, onTestFinished } from 'vitest';
import { insist } from '../tools/lab/chaos/people.ts';
import { createRandom } from '../tools/lab/chaos/random.ts';
import { install } from './support/callboard.ts';

const TOKEN = 'a-token-for-the-time-of-the-test';

async function openLog() {
  const env = { CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex') };
  const { start, dataDir } = await install(env);
  const { origin, stop } = await start();
  onTestFinished(stop);
  const transport = createHttpTransport({ origin, token: TOKEN });
  const fields = { projectId: ProjectId.parse('shop'), title: 'A stage', prompt: 'Do it' };
  const { stage } = await transport.command('create_stage', fields);
  const database = new DatabaseSync(join(dataDir, 'store.sqlite'), { timeout: 60_000 });
  onTestFinished(() => database.close());
  const signal = AbortSignal.timeout(240_000);
  let titles = 0;
  return {
    transport,
    /** Creates this many events; returns the number of the newest. */
    async happen(times: number): Promise<number> {
      for (let n = 0; n < times; n++) {
        const patch = { title: `Title ${++titles}` };
        await insist(signal, () => transport.command('update_stage', { stageId: stage.id, patch }));
      }
      return (await insist(signal, () => transport.command('get_board', {}))).seq;
    },
    /** Forgets all events up to this one, as pruning does. */
    prune: (until: number) => database.prepare('delete from events where seq <= ?').run(until),
  };
}

/** What a client that comes back gets first. */
async function recover(transport: Transport, since: number, count: number): Promise<(number | 'resync')[]> {
  const done = new AbortController();
  const got: (number | 'resync')[] = [];
  const reported = (item: StreamItem) => {
    if (item.type === 'resync') return 'resync';
    return 'seq' in item ? item.seq : null;
  };
  for await (const item of transport.events({ since }, AbortSignal.any([done.signal, AbortSignal.timeout(60_000)]))) {
    const what = reported(item);
    if (what !== null) got.push(what);
    if (got.length >= count) break;
  }
  done.abort();
  return got;
}

const upTo = (last: number, first: number) => Array.from({ length: last - first + 1 }, (_, n) => first + n);

it('replays exactly from the oldest kept event, and tells a client from before it to reload', async () => {
  const { transport, happen, prune } = await openLog();
  const newest = await happen(60);
  const oldest = newest - 29;
  prune(oldest - 1);
  const back = [
    recover(transport, oldest - 1, 31),
    recover(transport, oldest, 30),
    recover(transport, oldest - 2, 2),
    recover(transport, 0, 2),
    recover(transport, newest + 1_000, 2),
  ];
  // All of them continue with new events, until the last one has enough of them.
  let isOver = false;
  const rest = Promise.all(back).finally(() => {
    isOver = true;
  });
  while (!isOver) await happen(1);
  const [edge, behind, before, first, ahead] = await rest;
  expect(edge).toEqual(upTo(newest + 1, oldest));
  expect(behind).toEqual(upTo(newest + 1, oldest + 1));
  for (const got of [before, first, ahead]) expect(got?.[0]).toBe('resync');
});

it('never leaves a gap in a replay while the log is pruned at the same time', async () => {
  const { transport, happen, prune } = await openLog();
  const random = createRandom(1);
  let newest = await happen(40);
  let isOver = false;
  const busy = (async () => {
    while (!isOver) {
      newest = await happen(2);
      prune(newest - 20);
    }
  })();
  onTestFinished(async () => {
    isOver = true;
    await busy;
  });
  const outcomes = { replayed: 0, resynced: 0 };
  // Until there were enough of both: how many of each there are depends on the speed of the machine.
  for (let n = 0; n < 30 || outcomes.replayed <= 2 || outcomes.resynced <= 2; n++) {
    const since = Math.max(0, newest - random.between(0, 40));
    const got = await recover(transport, since, 4);
    if (got[0] === 'resync') outcomes.resynced += 1;
    else {
      expect(got).toEqual(upTo(since + 4, since + 1));
      outcomes.replayed += 1;
    }
  }
});
