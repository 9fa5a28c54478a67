import fc from 'fast-check';
import { expect, it } from 'vitest';
import { busyTestSession, type TestSession } from '../../../test/support/test-session.ts';
import { openTestStore } from '../../../test/support/test-store.ts';
import { type OutboxBody, textMessage } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import type { Channel } from '../claude/channel.ts';
import { createOutboxWriter } from './outbox-writer.ts';

type Kind = 'message' | 'long message' | 'answer' | 'control';

const bodies: Record<Kind, (n: number) => OutboxBody> = {
  message: (n) => textMessage(`message ${n}`),
  'long message': (n) => textMessage(`message ${n} ${'long '.repeat(2_000)}`),
  answer: (n) => ({
    kind: 'answer',
    response: { subtype: 'success', response: { behavior: 'deny', message: `no ${n}` } },
  }),
  control: () => ({ kind: 'control', request: { subtype: 'interrupt' } }),
};

/** Callboard ends at this step, before or right after its effect, as after a SIGKILL. */
class Crash extends Error {}

function crashing(store: Store, write: Channel['write'], at: number, isDone: boolean) {
  let step = 0;
  let dead = false;
  async function through<T>(work: () => Promise<T>): Promise<T> {
    if (dead) throw new Crash();
    const isLast = step++ === at;
    if (isLast && !isDone) dead = true;
    if (dead) throw new Crash();
    const result = await work();
    if (isLast) dead = true;
    if (dead) throw new Crash();
    return result;
  }
  return {
    store: { ...store, transact: (work) => through(() => store.transact(work)) } satisfies Store,
    write: (line: string) => through(() => write(line)),
  };
}

/** Runs a writer until it has nothing to write. @param give commits rows while the writer runs, so that it is handed them */
async function run(
  session: TestSession,
  store: Store,
  write: Channel['write'],
  give: () => Promise<void> = async () => undefined,
): Promise<void> {
  const channel: Channel = { async *lines() {}, write, finish: () => undefined, close: () => undefined };
  const writer = createOutboxWriter({
    store,
    platform: session.platform,
    channel,
    launchId: session.launchId(),
    onGone: () => undefined,
    onError: () => undefined,
  });
  const stop = store.onGiven(session.launchId(), writer.take);
  writer.schedule();
  await give();
  await writer.drain();
  stop();
}

it('lets each row take effect at most once, and each row that may be written again exactly once, at whichever step it crashes', async () => {
  const kinds = fc.array(fc.constantFrom<Kind>('message', 'long message', 'answer', 'control'), {
    minLength: 1,
    maxLength: 5,
  });
  const test = await openTestStore(); // one for all runs: a database for each takes longer than the run
  await fc.assert(
    fc.asyncProperty(kinds, fc.nat(20), fc.boolean(), fc.boolean(), async (rows, at, isDone, isHanded) => {
      const session = await busyTestSession({}, test);
      await run(session, session.store, async () => undefined); // the rows that the launch began with
      const { store, platform, stageId } = session;
      const give = async () => {
        for (const [n, kind] of rows.entries()) {
          const row = { id: platform.newId(), stageId, launchId: session.launchId(), wireId: `row-${n}`, actor: null };
          await store.transact((tx) => tx.outbox.insert({ ...row, body: bodies[kind](n), createdAt: tx.now }));
        }
      };
      if (!isHanded) await give();
      const read: string[] = [];
      const write = async (line: string) => void read.push(line);

      const first = crashing(store, write, at, isDone);
      await run(session, first.store, first.write, isHanded ? give : undefined);
      await run(session, store, write); // after the restart

      const lines = rows.map((_, n) => read.filter((line) => line.includes(`"row-${n}"`)));
      for (const [n, kind] of rows.entries()) {
        const copies = lines[n] ?? [];
        // The CLI drops a repeated uuid and a second answer to a request; the copies must be identical.
        expect(new Set(copies).size).toBe(kind === 'control' && copies.length === 0 ? 0 : 1);
        if (kind === 'control') expect(copies.length).toBeLessThanOrEqual(1);
      }
      const firsts = rows.flatMap((kind, n) =>
        kind === 'control' ? [] : read.findIndex((line) => line.includes(`"row-${n}"`)),
      );
      expect(firsts).toEqual(firsts.toSorted((a, b) => a - b));
      const left = (await session.outbox()).filter(({ state }) => state === 'accepted');
      expect(left).toEqual([]);
    }),
    { numRuns: 120 },
  );
});
