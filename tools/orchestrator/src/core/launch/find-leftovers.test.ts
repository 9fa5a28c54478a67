import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { identify } from '@callboard/runtime/process-identity';
import { expect, it, onTestFinished } from 'vitest';
import { parseRow } from '../../platform/process-table.ts';
import { findLeftovers, type LaunchSigns } from './leftover-processes.ts';

const NOTHING: LaunchSigns = {
  known: [],
  shells: new Map(),
  conversationId: null,
  place: null,
  except: new Set(),
};

/** A living process that leads its own Unix session. */
async function sleeper() {
  const child = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' });
  await once(child, 'spawn');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  const identity = await identify(child.pid ?? 0);
  if (identity === null) throw new Error('it has ended');
  return identity;
}

const pidsOf = async (signs: Partial<LaunchSigns>) =>
  (await findLeftovers({ ...NOTHING, ...signs })).map(({ pid }) => pid);

it('finds a process by its identity, not another one with the same pid', async () => {
  const living = await sleeper();
  expect(await pidsOf({ known: [living] })).toEqual([living.pid]);
  expect(await pidsOf({ known: [{ ...living, startTime: '1' }] })).toEqual([]);
  expect(await pidsOf({ known: [{ ...living, bootId: 'another boot' }] })).toEqual([]);
  expect(await pidsOf({ known: [living], except: new Set([living.pid]) })).toEqual([]);
});

it('finds what runs in the session of a shell, not a process that reuses its pid', async () => {
  const { pid, startTime } = await sleeper();
  expect(await pidsOf({ shells: new Map([[pid, startTime]]) })).toEqual([pid]);
  expect(await pidsOf({ shells: new Map([[pid, '1']]) })).toEqual([]);
});

it('never includes processes of our own session', async () => {
  const self = await identify(process.pid);
  if (self === null) throw new Error('we have ended');
  expect(await pidsOf({ known: [self] })).toEqual([]);
});

it('parses the stat line of a process with any name', () => {
  const rest = Array.from({ length: 30 }, (_, place) => String(place));
  const row = parseRow(7, `7 (a) b (c) S ${rest.join(' ')}`);
  expect(row).toEqual({ pid: 7, parent: 0, session: 2, startTime: '18' });
  expect(parseRow(7, `7 (a) Z ${rest.join(' ')}`)).toBeNull();
});
