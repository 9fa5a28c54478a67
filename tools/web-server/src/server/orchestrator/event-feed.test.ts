import type { BoardEvent } from '@callboard/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createTestLog } from '../../../test/harness.ts';
import { modeChanged } from '../../../test/samples.ts';
import { OrchestratorUnreachable } from '../errors.ts';
import { createEventFeed } from './client.ts';

/** What may happen, in any order. */
const Step = fc.oneof(
  { weight: 5, arbitrary: fc.constant('live' as const) },
  { weight: 2, arbitrary: fc.constant('lost' as const) }, // stored, but its frame never came
  { weight: 1, arbitrary: fc.constant('reconnect' as const) },
  { weight: 3, arbitrary: fc.constant('page' as const) }, // the oldest fetch under way is answered
  { weight: 1, arbitrary: fc.constant('late page' as const) }, // so late that the next connection has begun
);

it('emits every event once and in order, whatever is lost and whenever the connection ends', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(Step, { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), async (steps, pageSize) => {
      const stored: BoardEvent[] = [];
      const emitted: number[] = [];
      const fetches: { since: number; answer: PromiseWithResolvers<{ events: BoardEvent[]; resync: boolean }> }[] = [];
      const { log, errors } = createTestLog();
      const feed = createEventFeed({
        fetchPage(since) {
          const answer = Promise.withResolvers<{ events: BoardEvent[]; resync: boolean }>();
          fetches.push({ since, answer });
          return answer.promise;
        },
        emit: (event) => void emitted.push(event.seq),
        resync: () => expect.unreachable('nothing was lost for good'),
        log,
      });
      const answerOldest = () => {
        const oldest = fetches.shift();
        oldest?.answer.resolve({
          events: stored.filter(({ seq }) => seq > oldest.since).slice(0, pageSize),
          resync: false,
        });
      };
      const reconnect = () => {
        for (const { answer } of fetches.splice(0)) answer.reject(new OrchestratorUnreachable('lost'));
        feed.begin(stored.length);
      };

      feed.begin(0);
      for (const step of steps) {
        if (step === 'live' || step === 'lost') stored.push(modeChanged(stored.length + 1));
        const newest = stored.at(-1);
        if (step === 'live' && newest !== undefined) feed.take(newest.seq, newest);
        if (step === 'reconnect') reconnect();
        if (step === 'page' || step === 'late page') answerOldest();
        if (step === 'late page') reconnect();
        expect(fetches.length).toBeLessThanOrEqual(1);
        await settle();
      }
      reconnect();
      for (await settle(); fetches.length > 0; await settle()) answerOldest();
      expect(emitted).toEqual(stored.map(({ seq }) => seq));
      expect(errors).toEqual([]);
    }),
  );
});

/** Lets everything run that waits for nothing. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
