import { describe, expect, it } from 'vitest';
import type { Store } from '../../../orchestrator/src/store/store.ts';
import { joinTestStore, machineId } from '../../../orchestrator/test/support/test-machines.ts';
import { busyTestSession } from '../../../orchestrator/test/support/test-session.ts';
import { openTestStore, sampleProject } from '../../../orchestrator/test/support/test-store.ts';

const claim = (store: Store, stageId: string, n: number) =>
  store.transact(async (tx) => {
    const stage = (await tx.stages.list()).find(({ id }) => id === stageId) ?? expect.fail();
    const isMine = await tx.stages.claim(stage.id, machineId(n));
    if (isMine)
      await tx.emit({
        type: 'stage-updated',
        data: { stageId: stage.id, stage: { ...stage, machineId: machineId(n) } },
      });
    return isMine;
  });

describe('a claim', () => {
  it('is given to one of the machines that try', async () => {
    const { store, addStage } = await openTestStore();
    const stageId = await addStage();
    expect(await Promise.all([1, 2, 3].map((n) => claim(store, stageId, n)))).toEqual([true, false, false]);
    expect(await claim(store, stageId, 1)).toBe(true); // again
    expect(await store.read.stages.find(stageId)).toMatchObject({ machineId: machineId(1) });
  });

  it('survives a change of the stage that knew nothing of it', async () => {
    const { store, addStage } = await openTestStore();
    const stageId = await addStage();
    const before = (await store.read.stages.find(stageId)) ?? expect.fail();
    await claim(store, stageId, 1);
    await store.transact((tx) => tx.stages.update({ ...before, title: 'Another title' }));
    expect(await store.read.stages.find(stageId)).toMatchObject({ machineId: machineId(1), title: 'Another title' });
  });
});

describe('what services that act unasked see', () => {
  it('are the sessions, launches and events of their own machine', async () => {
    const given = await openTestStore();
    const [one, two] = [await joinTestStore(given.store, 1), await joinTestStore(given.store, 2)];
    const session = await busyTestSession({}, given);
    const { stageId } = await session.record();
    await claim(given.store, stageId, 1);
    const seen = { one: [] as string[], two: [] as string[] };
    one.own.onEvent(({ type }) => seen.one.push(type));
    two.own.onEvent(({ type }) => seen.two.push(type));
    await given.store.transact((tx) => tx.emit({ type: 'transcript-appended', data: { stageId, index: 1 } }));
    await given.store.transact((tx) => tx.emit({ type: 'holds-updated', data: { holds: [] } }));
    expect(seen).toEqual({ one: ['transcript-appended', 'holds-updated'], two: ['holds-updated'] });
    expect(await one.own.read.sessions.list()).toHaveLength(1);
    expect(await two.own.read.sessions.list()).toEqual([]);
    expect(await two.own.read.launches.listNotEnded()).toEqual([]);
    expect(await two.all.read.sessions.list()).toHaveLength(1);
    expect(await two.own.read.sessions.find(stageId)).not.toBeNull(); // by its id it is found
  });

  it('are the stages that they may start, and those that others depend on', async () => {
    const { store, addStage } = await openTestStore();
    const [free, mine, done, theirs] = [
      await addStage(),
      await addStage(),
      await addStage({ completedAt: '2026-01-02T03:04:05.000Z' }),
      await addStage(),
    ];
    const one = await joinTestStore(store, 1);
    await claim(store, mine, 1);
    await claim(store, done, 2);
    await claim(store, theirs, 2);
    expect((await one.own.board()).stages.map(({ id }) => id)).toEqual([free, mine, done]);
    expect((await one.all.board()).stages).toHaveLength(4);
  });
});

describe('a project', () => {
  it('has its own path on each machine, also in transactions', async () => {
    const { store } = await openTestStore();
    const { id } = sampleProject();
    const [one, two] = [await joinTestStore(store, 1), await joinTestStore(store, 2)];
    await one.all.transact((tx) => one.places.add(tx, { id, path: '/home/ada/shop' }, 'github.com/acme/shop'));
    await two.all.transact(async (tx) => {
      const joined = await two.places.join(tx, { root: '/srv/shop', remote: 'github.com/acme/shop', name: null });
      expect(joined).toMatchObject({ id, path: '/srv/shop' });
    });
    expect(await one.all.read.projects.find(id)).toMatchObject({ path: '/home/ada/shop' });
    expect(await two.own.read.projects.list()).toMatchObject([{ id, path: '/srv/shop' }]);
    expect(await two.all.transact((tx) => tx.projects.findByPath('/srv/shop'))).toMatchObject({ id });
    expect(await two.all.read.projects.findByPath('/home/ada/shop')).toBeNull();
  });

  it('is not looked after by a machine that does not have it', async () => {
    const { store } = await openTestStore();
    const one = await joinTestStore(store, 1);
    expect(await one.own.read.projects.list()).toEqual([]);
    expect(await one.all.read.projects.list()).toHaveLength(1);
  });

  it('may be at the path of another one on another machine', async () => {
    const { store } = await openTestStore();
    const one = await joinTestStore(store, 1);
    const other = sampleProject({ id: 'other' }); // at the same path
    await one.all.transact(async (tx) => {
      await tx.projects.save(other);
      await one.places.add(tx, other, null);
    });
    expect(await one.all.read.projects.find(other.id)).toMatchObject({ path: other.path });
  });

  it('without a remote is joined by its chosen name alone', async () => {
    const { store } = await openTestStore();
    const { id, name } = sampleProject();
    const [one, two] = [await joinTestStore(store, 1), await joinTestStore(store, 2)];
    await one.all.transact((tx) => one.places.add(tx, { id, path: '/a' }, null));
    const join = (chosen: string | null) =>
      two.all.transact((tx) => two.places.join(tx, { root: '/b', remote: null, name: chosen }));
    expect(await join(null)).toBeNull();
    expect(await join(name)).toMatchObject({ id, path: '/b' });
  });
});
