import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { identify } from '@callboard/runtime/process-identity';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { busyTestSession } from '../../../test/support/test-session.ts';
import { silent, withFields } from '../../../test/support/test-store.ts';
import { DatabaseUnreachable } from '../../store/storage-error.ts';
import { watchLaunch } from './running-launch.ts';

const GRACES = { interruptMs: 50, endSessionMs: 50, signalMs: 50 };

/** A launch whose store fails to read its session as often as `failures` has errors. */
async function launchWith(failures: Error[]) {
  const session = await busyTestSession();
  const { store, stageId } = session;
  const launch = await store.read.launches.find(session.launchId());
  if (launch === null) throw new Error('no launch');
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  const identity = await identify(child.pid ?? -1);
  if (identity === null) throw new Error('no process');
  const exited = once(child, 'exit').then(() => ({ known: true, code: 0, signal: null }) as const);
  const executor = {
    launch: { ...launch, folder: join(await temporaryFolder(), 'launch') },
    process: { identity, exited: () => exited },
    request: async () => {
      child.kill('SIGKILL'); // the process ends as asked
      return {};
    },
    reply: async () => ({}),
    liveText: () => [],
    lastHeard: () => ({ at: new Date(), silentMs: 0, isTurnOver: false }),
    onHeard: () => () => undefined,
    spool: () => ({ path: '/nowhere', readTo: 0 }),
    finish: async () => undefined,
    checkOutbox: () => undefined,
    marked: async () => undefined,
    detach: async () => undefined,
  };
  const find: typeof store.read.sessions.find = async (id) => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return store.read.sessions.find(id);
  };
  const failing = { ...store, read: withFields(store.read, { sessions: { ...store.read.sessions, find } }) };
  const findMessages = async () => new Set<string>();
  const ends = { onEnded: () => undefined, onGone: async () => undefined };
  const deps = {
    store: failing,
    log: silent,
    graces: GRACES,
    wasWatched: true,
    isOfEarlierBoot: false,
    findMessages,
    sizeOfConversation: async () => null,
    ...ends,
  };
  const record = () => store.read.sessions.find(stageId);
  return { running: watchLaunch(executor, deps), child, record };
}

it('can be stopped after a stop that failed', async () => {
  const { running, record } = await launchWith([new Error('the disk is gone')]);
  await expect(running.stop('Stopped by Ada.')).rejects.toThrow('the disk is gone');
  await running.stop('Stopped by Bo.');
  expect(await running.ended).toEqual({ kind: 'stopped', reason: 'Stopped by Ada.' });
  expect(await record()).toMatchObject({ state: 'ended' });
});

it('settles a process that died while the database was out of reach', async () => {
  const { running, child, record } = await launchWith([new DatabaseUnreachable('no'), new DatabaseUnreachable('no')]);
  child.kill('SIGKILL');
  expect(await running.ended).toMatchObject({ kind: 'died' });
  expect(await record()).toMatchObject({ state: 'ended', launchId: null });
});
