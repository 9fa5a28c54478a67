import { onTestFinished } from 'vitest';
import type { Channel } from '../../src/core/claude/channel.ts';
import { createOutboxWriter } from '../../src/core/executor/outbox-writer.ts';
import { OperationalError } from '../../src/lib/errors.ts';
import type { OutboxBody, OutboxRow } from '../../src/store/records.ts';
import { busyTestSession, type TestSession } from './test-session.ts';

/** What a channel throws whose process has ended. */
export const gone = () => new OperationalError('process_gone', 'the process no longer reads');

/** A channel to a process that the test plays. Each line is written when `onWrite.now` resolves; by default that is at once. */
function createTestChannel() {
  const written: { id: string; line: string }[] = [];
  const onWrite: { now: (id: string) => Promise<void> } = { now: async () => undefined };
  const channel: Channel = {
    async *lines() {},
    async write(line) {
      const id: string = JSON.parse(line).uuid ?? JSON.parse(line).request_id ?? JSON.parse(line).response.request_id;
      await onWrite.now(id);
      written.push({ id, line });
    },
    finish: () => undefined,
    close: () => undefined,
  };
  return { channel, onWrite, ids: () => written.map(({ id }) => id) };
}

/** A writer of a launch whose process the test plays; what the launch began with is written. */
export async function startTestWriter(mayWrite?: () => boolean) {
  const session = await busyTestSession();
  let transactions = 0;
  const { transact } = session.store;
  session.store.transact = (...given) => {
    transactions++;
    return transact(...given);
  };
  const { channel, onWrite, ids } = createTestChannel();
  const errors: unknown[] = [];
  let goneTimes = 0;
  const writer = createOutboxWriter({
    store: session.store,
    platform: session.platform,
    channel,
    launchId: session.launchId(),
    mayWrite,
    onGone: () => void goneTimes++,
    onError: (error) => errors.push(error),
  });
  onTestFinished(session.store.onGiven(session.launchId(), writer.take));
  writer.schedule();
  await writer.drain(); // the rows that the launch began with
  const first = ids().length;
  const since = transactions;
  return {
    session,
    writer,
    onWrite,
    errors,
    ids: () => ids().slice(first),
    goneTimes: () => goneTimes,
    /** Counts the transactions since the setup, including those of the test. */
    transactions: () => transactions - since,
  };
}

/** Gives rows to the launch, in one transaction. */
export async function insert({ store, platform, stageId, launchId }: TestSession, rows: Record<string, OutboxBody>) {
  await store.transact(async (tx) => {
    for (const [wireId, body] of Object.entries(rows)) {
      const row = { id: platform.newId(), stageId, launchId: launchId(), wireId, actor: null };
      await tx.outbox.insert({ ...row, body, createdAt: tx.now });
    }
  });
}

export const control: OutboxBody = { kind: 'control', request: { subtype: 'interrupt' } };
export const answer = (text = 'yes'): OutboxBody => ({ kind: 'answer', response: { subtype: 'success', text } });

/** Returns the row of an id. */
export async function rowOf(session: TestSession, wireId: string): Promise<OutboxRow> {
  const row = (await session.outbox()).find((candidate) => candidate.wireId === wireId);
  if (row === undefined) throw new Error(`no row ${wireId}`);
  return row;
}
