import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { busyTestSession } from '../../test/support/test-session.ts';
import { silent } from '../../test/support/test-store.ts';
import { watchSession } from './running-session.ts';

const GRACES = { interruptMs: 50, endSessionMs: 50, signalMs: 50 };
/** No process has this one. */
const GONE = { pid: 4_194_305, startTime: '1', bootId: 'none' };

it('can be stopped after a stop that failed', async () => {
  const session = await busyTestSession();
  const { store, stageId } = session;
  const launch = await store.read.launches.find(session.launchId());
  if (launch === null) throw new Error('no launch');
  const exited = Promise.withResolvers<{ known: false }>();
  const executor = {
    launch: { ...launch, folder: join(await temporaryFolder(), 'launch') },
    process: { identity: GONE, exited: () => exited.promise },
    request: async () => {
      exited.resolve({ known: false });
      return {};
    },
    reply: async () => ({}),
    liveText: () => [],
    lastHeard: () => ({ at: new Date(), silentMs: 0 }),
    finish: async () => undefined,
    detach: async () => undefined,
  };
  let isDown = true;
  const find: typeof store.read.sessions.find = async (id) => {
    if (isDown) throw new Error('the disk is away');
    return store.read.sessions.find(id);
  };
  const failing = { ...store, read: { ...store.read, sessions: { ...store.read.sessions, find } } };
  const findMessages = async () => new Set<string>();
  const onEnded = () => undefined;
  const parts = { store: failing, log: silent, graces: GRACES, wasWatched: true, findMessages, onEnded };
  const running = watchSession(executor, parts);
  await expect(running.stop('Stopped by Ada.')).rejects.toThrow('the disk is away');
  isDown = false;
  await running.stop('Stopped by Bo.');
  expect(await running.ended).toEqual({ kind: 'stopped', reason: 'Stopped by Ada.' });
  expect(await store.read.sessions.find(stageId)).toMatchObject({ state: 'ended' });
});
