import { RequestId } from '@callboard/contract';
import { describe, expect, it } from 'vitest';
import { until } from '../../../../test-support/until.ts';
import { beginLaunch } from '../../../orchestrator/src/core/launch/begin-launch.ts';
import { requireProject, type Store } from '../../../orchestrator/src/store/store.ts';
import { joinTestStore, machineId } from '../../../orchestrator/test/support/test-machines.ts';
import { asked, busyTestSession } from '../../../orchestrator/test/support/test-session.ts';
import { openTestStore, sampleProject } from '../../../orchestrator/test/support/test-store.ts';

const worktree = { path: '/w/S1', branch: 'callboard/S1', base: 'c0ffee' };

/** Two machines; the second one runs a session that waits for an answer, and does not answer itself any more. */
async function lostScene() {
  const given = await openTestStore();
  const { store } = given;
  const here = await joinTestStore(store, 1);
  const away = await joinTestStore(store, 2, { name: 'attic' });
  const session = await busyTestSession({ worktree }, given);
  const { stageId } = session;
  await session.emit(asked('r1'));
  await store.transact(async (tx) => {
    const stage = (await tx.stages.find(stageId)) ?? expect.fail();
    await tx.stages.claim(stageId, away.here);
    await tx.emit({ type: 'stage-updated', data: { stageId, stage: { ...stage, machineId: away.here } } });
  });
  const cutOff = () => store.transact((tx) => tx.machines.release(away.here, away.epoch));
  return { ...given, here, away, session, stageId, cutOff };
}

const stateOf = async (store: Store, n: number) => (await store.read.machines.find(machineId(n)))?.state;

describe('a machine', () => {
  it('becomes unreachable once its lease has run out, and is told once', async () => {
    const { store, events, cutOff } = await lostScene();
    await cutOff();
    await until('it is unreachable', async () => (await stateOf(store, 2)) === 'unreachable');
    const reported = events.filter(({ type }) => type === 'machine-updated');
    expect(reported).toMatchObject([{ data: { machine: { name: 'attic', state: 'unreachable' } } }]);
  });

  it('is connected again when it renews, since then', async () => {
    const { store, away, cutOff } = await lostScene();
    await cutOff();
    await until('it is unreachable', async () => (await stateOf(store, 2)) === 'unreachable');
    const lease = { id: away.here, epoch: away.epoch, leaseMs: 60_000 };
    expect(await store.transact((tx) => tx.machines.renew(lease, away.report))).toBe(true);
    expect(await stateOf(store, 2)).toBe('connected');
  });

  it('cannot be declared lost while it answers', async () => {
    const { here, away } = await lostScene();
    await expect(here.machines.declareLost(away.here, 'Ada')).rejects.toMatchObject({ code: 'machine_reachable' });
  });

  it('leads if it is the connected one with the lowest id', async () => {
    const { store, here, away } = await lostScene();
    expect([await here.machines.leads(store.read), await away.machines.leads(store.read)]).toEqual([true, false]);
    await store.transact((tx) => tx.machines.release(here.here, here.epoch));
    expect([await here.machines.leads(store.read), await away.machines.leads(store.read)]).toEqual([false, true]);
  });
});

describe('declaring a machine lost', () => {
  it('ends its epoch, closes its open requests, and interrupts its stages', async () => {
    const { store, here, away, session, stageId, cutOff } = await lostScene();
    await cutOff();
    expect(await here.machines.declareLost(away.here, 'Ada')).toMatchObject({ name: 'attic', state: 'lost' });
    const lease = { id: away.here, epoch: away.epoch, leaseMs: 60_000 };
    expect(await store.transact((tx) => tx.machines.renew(lease, away.report))).toBe(false);
    expect(await session.pending()).toEqual([]);
    expect((await store.read.requests.find(stageId, RequestId.parse('r1')))?.decision).toMatchObject({
      outcome: 'closed',
      reason: 'Interrupted on attic, which Ada declared lost.',
    });
    expect(await session.record()).toMatchObject({
      state: 'ended',
      launchId: null,
      queueHeld: false,
      turnMessages: [],
      lastTurn: { outcome: 'interrupted', message: 'Interrupted on attic, which Ada declared lost.' },
    });
    expect(await store.read.stages.find(stageId)).toMatchObject({
      machineId: null,
      worktree: null,
      lost: { machine: 'attic', by: 'Ada', worktree },
    });
    expect(here.ownership.ownerOf(stageId)).toBeNull();
    const notices = (await session.transcript()).flatMap((entry) => (entry.kind === 'notice' ? [entry.code] : []));
    expect(notices).toContain('machine-lost');
    await expect(here.machines.declareLost(away.here, 'Ada')).rejects.toMatchObject({ code: 'machine_reachable' });
  });

  it('keeps what waits in the queue, held', async () => {
    const { here, away, session, cutOff } = await lostScene();
    await session.enqueue('Later');
    await cutOff();
    await here.machines.declareLost(away.here, 'Ada');
    expect(await session.record()).toMatchObject({ queued: 1, queueHeld: true });
  });
});

it('does what one of those that have a project does in the place of the first one, while that is lost', async () => {
  const { store, here, away, cutOff } = await lostScene();
  const { id } = sampleProject();
  const last = await joinTestStore(store, 3);
  await store.transact(async (tx) => {
    await away.places.add(tx, { id, path: '/srv/shop' }, null);
    await last.places.add(tx, { id, path: '/home/shop' }, null);
    await tx.emit({ type: 'project-updated', data: { projectId: id, project: sampleProject() } });
  });
  const first = () => [away, last].filter(({ places }) => places.isFirst(id));
  await until('both know both', () => first().length === 1);
  expect(first()).toEqual([away]);
  await cutOff();
  expect(first()).toEqual([away]); // it may be back at any time
  await here.machines.declareLost(away.here, 'Ada');
  expect(first()).toEqual([last]);
  const later = await joinTestStore(store, 3);
  expect(later.places.isFirst(id)).toBe(true); // so it finds it when it starts
  await joinTestStore(store, 2);
  await store.transact((tx) => here.machines.notify(tx, away.here));
  expect(first()).toEqual([away]);
});

describe('the rule of a project', () => {
  /** A machine that ends its sessions after 20 ms and is silent, and a project that waits 40 ms. */
  async function silentScene(endsSessionsAfterMs: number | null = 20, leaseMs = 1) {
    const scene = await lostScene();
    const { store, away } = scene;
    const project = await requireProject(store.read, sampleProject().id);
    const settings = { ...project.settings, declareLostAfterMs: 40 };
    await store.transact((tx) => tx.projects.save({ ...project, settings }));
    const lease = { id: away.here, epoch: away.epoch, leaseMs };
    const report = { ...away.report, endsSessionsAfterMs };
    return { ...scene, fallSilent: () => store.transact((tx) => tx.machines.renew(lease, report)) };
  }
  const lossesIn = (events: readonly { type: string; data: object }[]) =>
    events.filter(({ type, data }) => type === 'machine-updated' && JSON.stringify(data).includes('"lost"'));

  it('declares a machine lost once, whoever looks, when its time is over', async () => {
    const { store, events, session, stageId, fallSilent } = await silentScene();
    await joinTestStore(store, 3);
    await fallSilent();
    await until('it is lost', async () => (await stateOf(store, 2)) === 'lost');
    expect((await store.read.requests.find(stageId, RequestId.parse('r1')))?.decision).toMatchObject({
      outcome: 'closed',
      reason: 'Interrupted on attic, which the rule of Shop declared lost.',
    });
    expect(await store.read.stages.find(stageId)).toMatchObject({ lost: { machine: 'attic', by: 'the rule of Shop' } });
    expect(await session.pending()).toEqual([]);
    expect(lossesIn(events)).toHaveLength(1);
  });

  it('waits for a person where the machine does not end its sessions, and where it was stopped in order', async () => {
    const other = await silentScene(null);
    await other.fallSilent();
    const { store, away, fallSilent } = await silentScene(20, 60_000);
    await fallSilent();
    await store.transact((tx) => tx.machines.release(away.here, away.epoch));
    for (const one of [other.store, store]) {
      await until('it is unreachable', async () => (await stateOf(one, 2)) === 'unreachable');
      await until(
        'its time is long over',
        async () => ((await one.read.machines.find(machineId(2)))?.silentMs ?? 0) > 300,
      );
      expect(await stateOf(one, 2)).toBe('unreachable');
    }
  });
});

describe('a start after the loss', () => {
  const begin = async (scene: Awaited<ReturnType<typeof lostScene>>, on: 'here' | 'away') => {
    const { store, platform, stageId } = scene;
    const claims = { here: scene[on].here, claim: async (_: unknown, stage: never) => stage };
    return store.transact((tx) => beginLaunch(tx, { platform, dataDir: '/data', claims }, { stageId, actor: 'Ada' }));
  };

  it('elsewhere begins a new conversation, which is told what the stage is about', async () => {
    const scene = await lostScene();
    await scene.session.emit({ type: 'conversation', sessionId: 'conversation-1' });
    await scene.cutOff();
    await scene.here.machines.declareLost(scene.away.here, 'Ada');
    const begun = await begin(scene, 'here');
    expect(begun.conversation).toMatchObject({ start: expect.any(String) });
    const [row] = (await scene.store.read.outbox.listOf(begun.launchId, ['accepted'])).filter(
      ({ kind }) => kind === 'message',
    );
    expect(row?.body).toMatchObject({ text: expect.stringContaining('another machine (attic), which is lost') });
    expect(row?.body).toMatchObject({ text: expect.stringContaining('the branch callboard/S1 as it was pushed last') });
  });

  it('on the machine itself goes on with its worktree and conversation', async () => {
    const scene = await lostScene();
    await scene.session.emit({ type: 'conversation', sessionId: 'conversation-1' });
    await scene.cutOff();
    await scene.here.machines.declareLost(scene.away.here, 'Ada');
    const begun = await begin(scene, 'away');
    expect(begun.conversation).toEqual({ resume: 'conversation-1' });
    expect(await scene.store.read.stages.find(scene.stageId)).toMatchObject({ worktree, lost: null });
  });
});

describe('removing a machine', () => {
  it('takes one that was declared lost off the list, tells it, and forgets where it had repositories', async () => {
    const { store, events, here, away, cutOff } = await lostScene();
    const { id } = sampleProject();
    await store.transact((tx) => here.places.add(tx, { id, path: '/home/shop' }, null));
    await store.transact(async (tx) => {
      await away.places.add(tx, { id, path: '/srv/shop' }, null);
      await tx.emit({ type: 'project-updated', data: { projectId: id, project: sampleProject() } });
    });
    await until('both places are known', () => here.places.of(away.here).length > 0);
    await cutOff();
    await here.machines.declareLost(away.here, 'Ada');
    expect(await here.machines.remove(away.here)).toMatchObject({ name: 'attic', state: 'lost', projects: [id] });
    expect(await here.machines.list()).toMatchObject([{ name: 'machine-1', projects: [id] }]);
    expect(events.at(-1)).toMatchObject({ type: 'machine-removed', data: { machineId: away.here } });
    expect(here.places.of(away.here)).toEqual([]);
    expect(await store.read.projectLocations.list()).toMatchObject([{ machineId: here.here }]);
    await expect(here.machines.remove(away.here)).rejects.toMatchObject({ code: 'unknown_machine' });
    await expect(here.machines.requirePin('attic')).rejects.toMatchObject({ code: 'unknown_machine' });
  });

  it('lets a repository join the project that only this machine had, by its remote', async () => {
    const { store, here, away, cutOff } = await lostScene();
    const { id } = sampleProject();
    await store.transact((tx) => away.places.add(tx, { id, path: '/srv/shop' }, 'example.org/shop'));
    await cutOff();
    await here.machines.declareLost(away.here, 'Ada');
    await here.machines.remove(away.here);
    const repository = { root: '/home/shop', remote: 'example.org/shop', name: null };
    expect(await store.transact((tx) => here.places.join(tx, repository))).toMatchObject({ id });
    expect(await store.read.projectLocations.list()).toMatchObject([{ machineId: here.here, path: '/home/shop' }]);
    expect(here.places.isFirst(id)).toBe(true);
  });

  it('is refused for one that was not declared lost, and says what comes first', async () => {
    const { store, here, away, cutOff } = await lostScene();
    await expect(here.machines.remove(away.here)).rejects.toMatchObject({
      code: 'machine_not_lost',
      message: expect.stringContaining('attic answers'),
    });
    await cutOff();
    await expect(here.machines.remove(away.here)).rejects.toMatchObject({
      code: 'machine_not_lost',
      message: expect.stringContaining('Declare it lost first'),
    });
    expect(await stateOf(store, 2)).toBeDefined();
  });
});

describe('the machine of a command', () => {
  it('is the owner of the stage, also while it is unreachable', async () => {
    const { here, away, stageId, cutOff } = await lostScene();
    await cutOff();
    expect(await here.machines.ofStage(stageId, true)).toBe(away.here);
  });

  it('is one that has the repository, for a stage that nobody has claimed', async () => {
    const { store, here, away, addStage } = await lostScene();
    const stageId = await addStage();
    const { id } = sampleProject();
    await expect(here.machines.ofStage(stageId, true)).rejects.toMatchObject({ code: 'no_machine' });
    await away.all.transact(async (tx) => {
      await away.places.add(tx, { id, path: '/srv/shop' }, null);
      await tx.emit({ type: 'project-updated', data: { projectId: id, project: sampleProject() } });
    });
    await until('the place is known', async () => here.places.of(away.here).length > 0);
    expect(await here.machines.ofStage(stageId, false)).toBe(away.here);
    expect(await here.machines.ofProject(id)).toBe(away.here);
    await store.transact((tx) => here.places.add(tx, { id, path: '/home/shop' }, null));
    expect(await here.machines.ofStage(stageId, false)).toBe(here.here); // it is here as well
  });

  it('refuses a pin to a machine that is not there', async () => {
    const { here } = await lostScene();
    await expect(here.machines.requirePin('ATTIC')).resolves.toBeUndefined();
    await expect(here.machines.requirePin('cellar')).rejects.toMatchObject({ code: 'unknown_machine' });
  });

  it('refuses a pin by a name that several machines have, unless all but one of them are lost', async () => {
    const { store, here, away, cutOff } = await lostScene();
    const twin = await joinTestStore(store, 3, { name: 'Attic' });
    await expect(here.machines.requirePin('attic')).rejects.toMatchObject({
      code: 'ambiguous_machine',
      message: `2 machines are called attic. Use the id of one: ${away.here}, ${twin.here}.`,
    });
    await expect(here.machines.requirePin(twin.here)).resolves.toBeUndefined();
    await cutOff();
    await here.machines.declareLost(away.here, 'Ada');
    await expect(here.machines.requirePin('attic')).resolves.toBeUndefined();
  });
});
