import type { CommandInput, Later, Me, MePatch, PendingRequest } from '@callboard/contract';
import { createReconciler, type Timer } from '@callboard/runtime/reconciler';
import type { z } from 'zod';
import { Rejection } from '../../lib/errors.ts';
import type { Logger, Platform } from '../../platform/runtime.ts';
import { onEvents, type Store, type Tx } from '../../store/store.ts';

/** What is kept for each person. */
export interface People {
  find(name: string): Promise<Me>;
  update(name: string, patch: z.infer<typeof MePatch>): Promise<Me>;
  /**
   * Sets an open request aside for this person, or takes that back (`until: null`).
   * @returns null if it is not set aside any more
   * @throws Rejection `unknown_request` if no open request has that id; `bad_request` if `until` has passed
   */
  setLater(name: string, wanted: CommandInput<'set_later'>): Promise<Later | null>;
  stop(): void;
}

interface PeopleDeps {
  store: Store;
  platform: Pick<Platform, 'now'>;
  log: Logger;
  timer?: Timer;
}

/** A timer stands still while the machine sleeps, so a longer one would be late. */
const MAX_SLEEP_MS = 60_000;

/** Starts to call people again about the requests that they set aside, when their time has come. */
export async function startPeople({ store, platform, log, timer }: PeopleDeps): Promise<People> {
  async function checkAgain(): Promise<void> {
    const now = platform.now().toISOString();
    const returning = await store.read.people.listReturning();
    const due = returning.filter(({ until }) => until <= now);
    if (due.length > 0) await store.transact((tx) => callAgain(tx, now));
    const next = returning[due.length];
    if (next === undefined) return;
    checks.scheduleIn(Math.max(1, Math.min(Date.parse(next.until) - platform.now().getTime(), MAX_SLEEP_MS)));
  }

  const checks = createReconciler(
    checkAgain,
    (error) => {
      log.error({ err: error }, 'looking for requests that were set aside failed');
      checks.scheduleIn(MAX_SLEEP_MS);
    },
    {
      // Another machine may have set it aside.
      on: (schedule) => [
        onEvents(store, ['later-updated'], ({ data }) => {
          if (data.later !== null && data.later.until !== null) schedule();
        }),
      ],
      timer,
    },
  );
  await checkAgain();
  return {
    find: (name) => store.read.people.find(name),
    update: (name, patch) =>
      store.transact(async (tx) => {
        const me = await tx.people.find(name);
        const { presentation, alerts } = { ...me, ...patch };
        await tx.people.saveSettings(name, { presentation, alerts });
        await tx.emit({ type: 'person-updated', data: { person: name, presentation, alerts } });
        return { ...me, presentation, alerts };
      }),
    async setLater(name, wanted) {
      const later = await store.transact((tx) => setLater(tx, name, wanted));
      return later;
    },
    stop: () => void checks.stop(),
  };
}

/** Ends what was set aside until now, of all people. */
async function callAgain(tx: Tx, now: string): Promise<void> {
  for (const { person, stageId, requestId, until } of await tx.people.listReturning()) {
    if (until > now) return;
    await tx.people.removeLater(person, stageId, requestId);
    await tx.emit({ type: 'later-updated', data: { stageId, requestId, person, later: null } });
  }
}

async function setLater(tx: Tx, person: string, wanted: CommandInput<'set_later'>): Promise<Later | null> {
  const { stageId, requestId } = await requireOpen(tx, wanted);
  const data = { stageId, requestId, person };
  if (wanted.until === null) {
    const wasLater = await tx.people.removeLater(person, stageId, requestId);
    if (wasLater) await tx.emit({ type: 'later-updated', data: { ...data, later: null } });
    return null;
  }
  const until = wanted.until ?? null;
  if (until !== null && Date.parse(until) <= Date.parse(tx.now)) {
    throw new Rejection('bad_request', '`until` has passed. Name a later time, or null to take the request back.');
  }
  const later = { stageId, requestId, until: until === null ? null : new Date(until).toISOString() };
  await tx.people.saveLater(person, later);
  await tx.emit({ type: 'later-updated', data: { ...data, later: { until: later.until } } });
  return later;
}

async function requireOpen(tx: Tx, { requestId, stageId }: CommandInput<'set_later'>): Promise<PendingRequest> {
  const open = stageId === undefined ? await tx.requests.listOpen() : await tx.requests.listOpenOf(stageId);
  const request = open.find((one) => one.requestId === requestId);
  if (request === undefined) {
    throw new Rejection('unknown_request', `No open request has the id ${requestId}. It may have been decided.`);
  }
  return request;
}
