import { Writable } from 'node:stream';
import type { BoardEvent } from '@callboard/contract';
import { createMessageReader, readMessage } from '@callboard/contract/client';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createTestLog } from '../../../test/harness.ts';
import { modeChanged } from '../../../test/samples.ts';
import { OrchestratorUnreachable } from '../errors.ts';
import { createEventFeed, type OrchestratorClient } from '../orchestrator/client.ts';
import { type RawEvent, toRawEvent } from '../orchestrator/connection.ts';
import { createEventHub } from './event-hub.ts';

const MACHINES = 2;
const CLIENTS = 3;
const PAGE = 3;

const machine = fc.integer({ min: 0, max: MACHINES - 1 });
const client = fc.integer({ min: 0, max: CLIENTS - 1 });
/** What may happen, in any order. */
const Step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ what: fc.constant('commit' as const) }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constant('hears' as const), machine }) }, // of the next commit, late
  { weight: 1, arbitrary: fc.record({ what: fc.constant('misses' as const), machine }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constant('page' as const), machine }) }, // the oldest one that was asked for
  { weight: 1, arbitrary: fc.record({ what: fc.constant('disconnects' as const), machine }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('connects' as const), machine }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('comes' as const), client, machine }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('leaves' as const), client }) },
);

it('gives each client every event once and in order, whichever web server it comes to and whatever that one knows', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(Step, fc.boolean()), { maxLength: 80 }), async (steps) => {
      const stored: BoardEvent[] = [];
      const machines = Array.from({ length: MACHINES }, () => createMachine(stored));
      const clients = Array.from({ length: CLIENTS }, createClient);
      try {
        for (const [step, isAlone] of steps) {
          if (step.what === 'commit') stored.push(modeChanged(stored.length + 1));
          else if (step.what === 'leaves') clients[step.client]?.leave();
          else if (step.what === 'comes') comeTo(clients[step.client], machines[step.machine]);
          else machines[step.machine]?.[step.what]();
          if (isAlone) await settle(); // else the next one happens in the same tick
        }
        for (const [index, one] of clients.entries()) comeTo(one, machines[index % MACHINES]);
        stored.push(modeChanged(stored.length + 1));
        for (const { connects } of machines) connects();
        while (machines.some(({ isAsked }) => isAsked())) {
          for (const { page } of machines) page();
          await settle();
        }
        for (const { wrong } of clients) expect(wrong).toEqual([]);
        expect(clients.map(({ newest }) => newest())).toEqual(clients.map(() => stored.length));
      } finally {
        for (const { close } of machines) close();
      }
      expect(machines.flatMap(({ errors }) => errors)).toEqual([]);
    }),
  );
});

/** The web server of one machine, and what its orchestrator has told it. The log is the same on all machines. */
function createMachine(stored: readonly BoardEvent[]) {
  const { log, errors } = createTestLog();
  const listeners = new Set<Parameters<OrchestratorClient['listen']>[0]>();
  const asked: { since: number; answer: PromiseWithResolvers<{ events: BoardEvent[]; resync: boolean }> }[] = [];
  let isConnected = true;
  let reported = stored.length;

  function ask(since: number) {
    const answer = Promise.withResolvers<{ events: BoardEvent[]; resync: boolean }>();
    if (isConnected) asked.push({ since, answer });
    else answer.reject(new OrchestratorUnreachable('away'));
    return answer.promise;
  }
  const feed = createEventFeed<RawEvent>({
    fetchPage: async (since) => {
      const { events, resync } = await ask(since);
      return { events: events.map(toRawEvent), resync };
    },
    emit(event) {
      for (const listener of [...listeners]) listener.event?.(event);
    },
    resync() {
      for (const listener of [...listeners]) listener.resync?.();
    },
    log,
  });
  const orchestrator: OrchestratorClient = {
    send: ((type: string, { since }: { since: number }) =>
      type === 'get_events' ? ask(since) : Promise.resolve({})) as OrchestratorClient['send'],
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    status: () => (isConnected ? 'ready' : 'unreachable'),
    async whenReady(signal) {
      if (isConnected) return;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => reject(signal.reason));
      listeners.add({ status: (status) => status === 'ready' && resolve() });
      await promise;
    },
    seq: feed.seq,
    notices: () => null,
    about: () => null,
    close: () => Promise.resolve(),
  };
  const hub = createEventHub({
    client: orchestrator,
    log,
    heartbeatMs: 60_000,
    loginCheckMs: 60_000,
    maxUnreadBytes: 1_000_000,
  });
  feed.begin(reported);

  function disconnects(): void {
    isConnected = false;
    for (const { answer } of asked.splice(0)) answer.reject(new OrchestratorUnreachable('lost'));
    for (const listener of [...listeners]) listener.status?.('unreachable');
  }

  return {
    errors,
    join: hub.join,
    disconnects,
    connects(): void {
      disconnects();
      isConnected = true;
      reported = stored.length;
      feed.begin(reported);
      for (const listener of [...listeners]) listener.status?.('ready');
    },
    hears(): void {
      const next = stored[reported];
      if (!isConnected || next === undefined) return;
      reported += 1;
      feed.take(next.seq, toRawEvent(next));
    },
    misses(): void {
      if (isConnected && reported < stored.length) reported += 1;
    },
    isAsked: () => asked.length > 0,
    page(): void {
      const oldest = asked.shift();
      const events = stored.filter(({ seq }) => seq > (oldest?.since ?? 0)).slice(0, PAGE);
      oldest?.answer.resolve({ events, resync: false });
    },
    close: hub.close,
  };
}

/** A client that resumes where it was. It notes in words whatever should not have reached it. */
function createClient() {
  const wrong: string[] = [];
  let newest: number | null = null;
  let out: Writable | null = null;

  function hear(raw: Parameters<typeof readMessage>[0]): void {
    const message = readMessage(raw, 'whole');
    if (message?.type === 'stream') {
      newest ??= message.data.seq;
      if (message.data.seq !== newest) wrong.push(`goes on after ${message.data.seq}, and the client has ${newest}`);
    } else if (message?.type === 'resync') wrong.push(`resync to ${message.data.seq}`);
    else if (message !== null && 'seq' in message) {
      if (message.seq !== (newest ?? 0) + 1) wrong.push(`${message.seq} after ${newest}`);
      newest = message.seq;
    }
  }

  return {
    wrong,
    newest: () => newest,
    since: () => newest,
    leave(): void {
      out?.destroy();
      out = null;
    },
    /** Begins a new connection. */
    open(): Writable {
      const read = createMessageReader(hear);
      const opened: Writable = new Writable({
        write(chunk, _, done) {
          if (opened === out) read(String(chunk));
          done();
        },
      });
      out = opened;
      return opened;
    },
  };
}

function comeTo(
  one: ReturnType<typeof createClient> | undefined,
  to: ReturnType<typeof createMachine> | undefined,
): void {
  one?.leave();
  if (one === undefined || to === undefined) return;
  to.join(
    one.open(),
    { since: one.since(), waitMs: null },
    { key: 'one', loginId: null, stillAllowed: () => Promise.resolve(true) },
  );
}

/** Lets everything run that waits for nothing. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
