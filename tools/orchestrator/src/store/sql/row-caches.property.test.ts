import { Decision, LaunchId, MachineId, PendingRequest, type StageId } from '@callboard/contract';
import { sampleDecision, sampleRequest } from '@callboard/contract/samples';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openTestStore } from '../../../test/support/test-store.ts';
import { textMessage } from '../records.ts';
import type { Tables, Tx } from '../store.ts';

const LAUNCH = LaunchId.parse('launch-1');
const MACHINE = MachineId.parse('00000000-0000-4000-8000-000000000001');
const ROLLED_BACK = new Error('rolled back');
const DOES = [
  ...(['ask', 'decide', 'decide-again', 'find', 'settle'] as const),
  ...(['queue', 'give', 'return', 'confirm', 'confirm-queued', 'drop'] as const),
  ...(['ask', 'ask', 'find', 'queue', 'queue', 'give', 'give', 'return', 'return', 'remove'] as const), // more of what must meet
  ...(['hold', 'release', 'budget', 'no-budget', 'claim', 'unclaim', 'rename', 'keep', 'remove'] as const),
];
const step = fc.record({ does: fc.constantFrom(...DOES), nth: fc.nat(2), stage: fc.nat(1) });
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
const transactions = fc.array(
  fc.record({ steps: fc.array(step, { maxLength: 5 }), fails: fc.boolean(), checks: fc.boolean() }),
  {
    minLength: 5,
    maxLength: 30,
  },
);

const request = (stageId: StageId, nth: number) =>
  PendingRequest.parse(sampleRequest({ stageId, requestId: `r${nth}`, toolUseId: `t${nth}` }));

async function take(tx: Tx, { does, nth }: Step, stageId: StageId): Promise<void> {
  const { requestId } = request(stageId, nth);
  const decide = (fields: object) =>
    tx.requests.decide(Decision.parse(sampleDecision({ stageId, requestId, at: tx.now, ...fields })));
  const row = (await tx.outbox.listOf(LAUNCH, ['accepted'])).find((one) => one.stageId === stageId);
  const [queued] = await tx.outbox.queueOf(stageId);
  const stage = await tx.stages.find(stageId);
  if (stage === null) return;
  const add = () => ({ id: tx.newId(), stageId, launchId: null, wireId: tx.newWireId(), createdAt: tx.now });
  const budget = { scope: { stageId }, usd: nth + 1, tokens: null, warnedFor: null };
  const deeds: Record<Step['does'], () => Promise<unknown>> = {
    ask: () => tx.requests.open(request(stageId, nth), LAUNCH),
    find: () => tx.requests.find(stageId, requestId),
    decide: () => decide({ delivery: 'written' }),
    'decide-again': async () => {
      if ((await tx.requests.find(stageId, requestId)) === null) return;
      await decide({ delivery: 'written' });
      await decide({ delivery: 'confirmed' });
    },
    settle: () => decide({ delivery: 'confirmed' }),
    queue: () => tx.outbox.insert({ ...add(), actor: 'Ada', body: textMessage('go') }),
    give: async () => queued && tx.outbox.give(queued, LAUNCH, queued.body),
    return: async () => row && tx.outbox.assign(row.id, null),
    confirm: async () => row && tx.outbox.setConfirmed(row.id, tx.now),
    'confirm-queued': async () => queued && tx.outbox.setConfirmed(queued.id, tx.now),
    drop: async () => queued && tx.outbox.setVoid(queued.id, 'dropped'),
    hold: () => tx.holds.save({ scope: { projectId: stage.projectId }, by: 'Ada', at: tx.now, except: [] }),
    release: () => tx.holds.remove({ projectId: stage.projectId }),
    budget: () => tx.budgets.save(budget),
    'no-budget': () => tx.budgets.remove({ stageId }),
    claim: () => tx.stages.claim(stageId, MACHINE),
    unclaim: () => tx.stages.releaseOf(MACHINE),
    rename: () => tx.stages.update({ ...stage, title: `Title ${nth}` }),
    keep: () => tx.requests.retainOf(stage),
    remove: async () => {
      if (nth === 0) await tx.stages.remove(stageId);
    },
  };
  await deeds[does]();
}

/** All that is kept in memory, as these tables tell it. */
async function reported({ stages, requests, outbox, holds, budgets }: Tables, stageIds: readonly StageId[]) {
  const of = await Promise.all(
    stageIds.map(async (stageId) => ({
      stage: await stages.find(stageId),
      open: (await requests.listOpenOf(stageId)).map(({ requestId }) => requestId),
      openCount: await requests.countOpenOf(stageId),
      queue: (await outbox.queueOf(stageId)).map(({ id }) => id),
      queued: await outbox.countQueued(stageId),
    })),
  );
  return { of, holds: await holds.list(), budgets: await budgets.list() };
}

it('tells what is stored, whatever was written, committed and rolled back before', async () => {
  await fc.assert(
    fc.asyncProperty(transactions, async (run) => {
      const { store, addStage, openAgain } = await openTestStore();
      const fresh = await openAgain(); // has nothing in memory
      const stageIds = [await addStage(), await addStage()];
      for (const { steps, fails, checks } of run) {
        const work = store.transact(async (tx) => {
          for (const one of steps) await take(tx, one, stageIds[one.stage] ?? expect.fail());
          const inside = checks ? await reported(tx, stageIds) : null; // what is read is in memory afterwards
          if (fails) throw ROLLED_BACK;
          return inside;
        });
        const inside = await work.catch((error: unknown) => {
          if (error !== ROLLED_BACK) throw error;
          return null;
        });
        const stored = await reported(fresh.read, stageIds);
        if (inside !== null) expect(inside).toEqual(stored);
        expect(await store.transact((tx) => reported(tx, stageIds))).toEqual(stored);
        expect(await reported(store.read, stageIds)).toEqual(stored);
      }
      await fresh.close();
    }),
    { numRuns: 40 },
  );
});
