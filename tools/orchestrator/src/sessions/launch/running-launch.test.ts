import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { identify } from '@callboard/runtime/process-identity';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { busyTestSession } from '../../../test/support/test-session.ts';
import { silent, withFields } from '../../../test/support/test-store.ts';
import { watchLaunch } from './running-launch.ts';

const GRACES = { interruptMs: 50, endSessionMs: 50, signalMs: 50 };

it('can be stopped after a stop that failed', async () => {
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
    marked: async () => undefined,
    detach: async () => undefined,
  };
  let isDown = true;
  const find: typeof store.read.sessions.find = async (id) => {
    if (isDown) throw new Error('the disk is gone');
    return store.read.sessions.find(id);
  };
  const failing = { ...store, read: withFields(store.read, { sessions: { ...store.read.sessions, find } }) };
  const findMessages = async () => new Set<string>();
  const ends = { onEnded: () => undefined, onGone: async () => undefined };
  const parts = {
    store: failing,
    log: silent,
    graces: GRACES,
    wasWatched: true,
    isOfEarlierBoot: false,
    findMessages,
    ...ends,
  };
  const running = watchLaunch(executor, parts);
  await expect(running.stop('Stopped by Ada.')).rejects.toThrow('the disk is gone');
  isDown = false;
  await running.stop('Stopped by Bo.');
  expect(await running.ended).toEqual({ kind: 'stopped', reason: 'Stopped by Ada.' });
  expect(await store.read.sessions.find(stageId)).toMatchObject({ state: 'ended' });
});
