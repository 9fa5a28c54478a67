import { randomUUID } from 'node:crypto';
import { setImmediate as later } from 'node:timers/promises';
import { type BoardEvent, boardView, MessageId, type NewEvent } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { postgresLack } from '../../../../test-support/postgres.ts';
import { asked, busyTestSession } from '../../test/support/test-session.ts';
import { openTestStore, sampleStage, stageId } from '../../test/support/test-store.ts';
import type { Tx } from './store.ts';

const STAGE = stageId('S1');
const note = (index: number): NewEvent => ({ type: 'transcript-appended', data: { stageId: STAGE, index } });
const indexOf = (event: BoardEvent) => (event.type === 'transcript-appended' ? event.data.index : null);

const LACKS = { SQLite: '', PostgreSQL: postgresLack };

describe.each(['SQLite', 'PostgreSQL'] as const)('on %s', (kind) => {
  const test = it.skipIf(LACKS[kind] !== '');
  const open = () => openTestStore(undefined, kind);

  test('numbers events without gaps, publishes them after the commit, and stores them', async () => {
    const { store, events } = await open();
    await store.transact(async (tx) => {
      await tx.emit(note(1));
      await tx.emit(note(2));
      expect(events).toEqual([]);
    });
    await store.transact((tx) => tx.emit(note(3)));
    expect(events.map((event) => event.seq)).toEqual([1, 2, 3]);
    expect(events.map(indexOf)).toEqual([1, 2, 3]);
    expect(await store.read.events.since(0, 10)).toEqual(events);
    expect(await store.read.events.since(1, 1)).toEqual(events.slice(1, 2));
  });

  test('refuses a write after the end of its transaction', async () => {
    const { store } = await open();
    const { promise, resolve } = Promise.withResolvers<Tx>();
    await store.transact(async (tx) => resolve(tx));
    const tx = await promise;
    await expect(tx.stages.find(STAGE)).rejects.toThrow(/committed/);
    await expect(tx.projects.list()).rejects.toThrow(/committed/);
  });

  test('gives all writes of one transaction the same instant', async () => {
    const { store, events } = await open();
    await store.transact(async (tx) => {
      await tx.emit(note(1));
      await tx.emit(note(2));
      expect(events.every((event) => event.at === tx.now)).toBe(true);
    });
    expect(events[0]?.at).toBe(events[1]?.at);
  });

  test('publishes one event for a session and one for a decision, in their final state', async () => {
    const { store, events } = await open();
    const session = (lastAction: string) =>
      ({ type: 'session-updated', data: { stageId: STAGE, lastAction } }) as unknown as NewEvent;
    const decision = (requestId: string, delivery: string) =>
      ({ type: 'decision-updated', data: { stageId: STAGE, requestId, delivery } }) as unknown as NewEvent;
    await store.transact(async (tx) => {
      const reported = [session('a'), decision('r1', 'written'), note(1), decision('r2', 'written'), note(2)];
      for (const event of [...reported, session('b'), decision('r1', 'confirmed')]) await tx.emit(event);
    });
    const expected = [note(1), decision('r2', 'written'), note(2), session('b'), decision('r1', 'confirmed')];
    expect(events).toMatchObject(expected);
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
  });

  test('stores nothing, publishes nothing and runs no hint when a transaction fails', async () => {
    const { store, events } = await open();
    const hints: string[] = [];
    const failing = store.transact(async (tx) => {
      await tx.stages.insert(sampleStage({ id: STAGE }));
      await tx.emit(note(1));
      tx.afterCommit(() => hints.push('failed'));
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await store.read.stages.list()).toEqual([]);
    expect(events).toEqual([]);
    expect(hints).toEqual([]);
    await store.transact(async (tx) => {
      await tx.emit(note(2));
      tx.afterCommit(() => hints.push('good'));
    });
    expect(events.map((event) => event.seq)).toEqual([1]);
    expect(hints).toEqual(['good']);
  });

  test('runs transactions and publishes their events in the order of the calls', async () => {
    const { store, events } = await open();
    const seen: string[] = [];
    const run = (n: number, turns: number) =>
      store.transact(async (tx) => {
        seen.push(`begin ${n}`);
        for (let turn = 0; turn < turns; turn++) await later();
        await tx.emit(note(n));
        seen.push(`end ${n}`);
        return n;
      });
    const results = await Promise.all([run(1, 5), run(2, 0), run(3, 2)]);
    expect(results).toEqual([1, 2, 3]);
    expect(seen).toEqual(['begin 1', 'end 1', 'begin 2', 'end 2', 'begin 3', 'end 3']);
    expect(events.map((event) => [event.seq, indexOf(event)])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
  });

  test('publishes a commit before the next transaction begins, and runs hints after the events', async () => {
    const { store } = await open();
    const seen: string[] = [];
    store.onEvent((event) => seen.push(`event ${event.seq}`));
    const first = store.transact(async (tx) => {
      tx.afterCommit(() => seen.push('hint 1'));
      await tx.emit(note(1));
      tx.afterCommit(() => seen.push('hint 2'));
    });
    const second = store.transact(async () => void seen.push('next'));
    await Promise.all([first, second]);
    expect(seen).toEqual(['event 1', 'hint 1', 'hint 2', 'next']);
  });

  test('passes rows to their launch in writing order, whichever was given first', async () => {
    const session = await busyTestSession({}, await open());
    const { store, platform, stageId } = session;
    await session.enqueue('first');
    const handed: string[] = [];
    store.onGiven(session.launchId(), (rows) => handed.push(...rows.map(({ kind }) => kind)));
    await store.transact(async (tx) => {
      const row = {
        id: platform.newId(),
        stageId,
        launchId: session.launchId(),
        wireId: 'c',
        actor: null,
        createdAt: tx.now,
      };
      await tx.outbox.insert({ ...row, body: { kind: 'control', request: { subtype: 'interrupt' } } });
      for (const message of await tx.outbox.queueOf(stageId))
        await tx.outbox.give(message, session.launchId(), message.body);
    });
    expect(handed).toEqual(['message', 'control']);
  });

  test('continues after a failed transaction', async () => {
    const { store } = await open();
    const first = store.transact(() => Promise.reject(new Error('no')));
    const second = store.transact(async () => 'yes');
    await expect(first).rejects.toThrow('no');
    expect(await second).toBe('yes');
  });

  test('keeps the commit and calls the other listeners when a listener or a hint fails', async () => {
    const { store } = await open();
    const heard: number[] = [];
    const fail = () => {
      throw new Error('odd');
    };
    store.onEvent(fail);
    const stop = store.onEvent((event) => heard.push(event.seq));
    const result = await store.transact(async (tx) => {
      await tx.emit(note(1));
      tx.afterCommit(fail);
      tx.afterCommit(() => heard.push(-1));
      return 'stored';
    });
    expect(result).toBe('stored');
    expect(heard).toEqual([1, -1]);
    stop();
    await store.transact((tx) => tx.emit(note(2)));
    expect(heard).toEqual([1, -1]);
  });

  test('reads committed data, and nothing of a running transaction', async () => {
    const { store } = await open();
    const gate = Promise.withResolvers<void>();
    const writing = store.transact(async (tx) => {
      await tx.stages.insert(sampleStage({ id: STAGE }));
      await gate.promise;
      throw new Error('no');
    });
    const reading = store.read.stages.list();
    gate.resolve();
    await expect(writing).rejects.toThrow('no');
    expect(await reading).toEqual([]);
  });

  test('returns a board that matches its seq', async () => {
    const { store, events } = await open();
    const stage = sampleStage({ id: STAGE });
    await store.transact(async (tx) => {
      await tx.stages.insert(stage);
      await tx.emit({ type: 'stage-created', data: { stageId: stage.id, stage } });
    });
    const board = await store.board();
    expect(board).toMatchObject({
      seq: 1,
      projects: [{ id: 'shop' }],
      stages: [{ id: 'S1', session: null }],
      pending: [],
    });
    expect(events).toHaveLength(1);
  });

  test('returns one stage in the same state as the whole board', async () => {
    const test = await open();
    const { store } = test;
    const AT = '2026-01-02T03:04:05.000Z';
    await test.addStage({ id: 'done', completedAt: AT });
    await test.addStage({ id: 'free', dependsOn: ['done'] });
    await test.addStage({ id: 'blocked', dependsOn: ['free', 'done'] });
    const session = await busyTestSession({ id: 'asks' }, test);
    await session.emit(asked('r1'));
    const { stages } = boardView(await store.board());
    expect(stages.map(({ column }) => column)).toEqual(['done', 'ready', 'backlog', 'needs-you']);
    for (const stage of stages) {
      const parts = await store.boardOf(stage.id);
      expect(boardView(parts).stages.find(({ id }) => id === stage.id)).toEqual(stage);
    }
    expect((await store.boardOf(stageId('nobody'))).stages).toEqual([]);
  });

  test('prunes events by count, age and size, but never the newest', async () => {
    const { store, addStage } = await open();
    const id = await addStage();
    const seqs = async () => (await store.read.events.since(0, 100)).map((event) => event.seq);
    const all = { save: 100, retainBytes: 1_000_000, olderThan: '' };
    for (let n = 1; n <= 9; n++)
      await store.transact((tx) => tx.emit({ type: 'transcript-appended', data: { stageId: id, index: n } }));
    await store.transact((tx) => tx.events.prune(all));
    expect(await seqs()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await store.transact((tx) => tx.events.prune({ ...all, save: 7 }));
    expect(await seqs()).toEqual([3, 4, 5, 6, 7, 8, 9]);
    const { at = '' } = (await store.read.events.since(4, 1))[0] ?? {};
    await store.transact((tx) => tx.events.prune({ ...all, olderThan: at }));
    expect(await seqs()).toEqual([5, 6, 7, 8, 9]);
    const each = Buffer.byteLength(JSON.stringify({ stageId: id, index: 9 }));
    await store.transact((tx) => tx.events.prune({ ...all, retainBytes: each * 3 }));
    expect(await seqs()).toEqual([7, 8, 9]);
    await store.transact((tx) => tx.events.prune({ ...all, retainBytes: 0 }));
    expect(await seqs()).toEqual([9]);
  });

  test('returns long events and entries in pages of limited size, with at least one in each', async () => {
    const { store, addStage } = await open();
    const id = await addStage();
    const text = 'x'.repeat(0.4 * 1024 * 1024);
    const entry = { stageId: id, at: '2026-01-02T03:04:05.000Z', parentToolUseId: null, kind: 'text' as const };
    for (const index of [1, 2, 3, 4, 5]) {
      await store.transact(async (tx) => {
        await tx.transcript.append([
          { ...entry, index, text: index === 5 ? text.repeat(4) : text, blockId: `b${index}` },
        ]);
        await tx.emit({
          type: 'message-sent',
          data: { stageId: id, messageId: MessageId.parse(randomUUID()), text: index === 5 ? text.repeat(4) : text },
        });
      });
    }
    const page = async (fields: object) =>
      (await store.read.transcript.page(id, { after: undefined, before: undefined, limit: 100, ...fields })).map(
        ({ index }) => index,
      );
    expect(await page({ after: 0 })).toEqual([1, 2]);
    expect(await page({ after: 2 })).toEqual([3, 4]);
    expect(await page({ after: 4 })).toEqual([5]);
    expect(await page({})).toEqual([5]);
    expect(await page({ before: 5 })).toEqual([3, 4]);
    expect(await page({ before: 5, limit: 1 })).toEqual([4]);
    const since = async (seq: number) => (await store.read.events.since(seq, 100)).map((event) => event.seq);
    expect([await since(0), await since(2), await since(4), await since(5)]).toEqual([[1, 2], [3, 4], [5], []]);
  });

  test('stores the same session that it caches', async () => {
    const test = await open();
    const session = await busyTestSession({}, test);
    await session.emit(asked('r1'));
    const record = await session.record();
    const other = await test.openAgain();
    expect(await other.read.sessions.find(session.stageId)).toEqual(record);
    await other.close();
  });

  test('has all data after it is reopened, and never uses a number twice', async () => {
    const { store: first, openAgain } = await open();
    await first.transact(async (tx) => {
      await tx.stages.insert(sampleStage({ id: STAGE }));
      expect(await tx.stages.nextId()).toBe('STAGE-1');
      await tx.emit(note(1));
    });
    const running = first.transact((tx) => tx.emit(note(2)));
    await first.close();
    await running;
    const second = await openAgain();
    const events: BoardEvent[] = [];
    second.onEvent((event) => events.push(event));
    expect(await second.read.events.lastSeq()).toBe(2);
    expect((await second.read.stages.find(STAGE))?.id).toBe('S1');
    await second.transact(async (tx) => {
      await tx.stages.remove(STAGE);
      expect(await tx.stages.nextId()).toBe('STAGE-2');
      await tx.emit(note(3));
    });
    expect(events.map((event) => event.seq)).toEqual([3]);
    await second.close();
  });
});
