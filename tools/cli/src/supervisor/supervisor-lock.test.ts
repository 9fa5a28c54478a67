import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { COMPILE_CACHE } from '../../../../test-support/compile-cache.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { eventually } from '../../../../test-support/until.ts';
import { fixture, type Program, runProgram } from '../../test/cli-process.ts';
import { AlreadyLocked, acquireSupervisorLock, findSupervisor } from './control-socket.ts';

const now = new Date('2026-01-02T03:04:05.000Z');
const lockOf = (dataDir: string) => join(dataDir, 'run', 'supervisor.json');
const pause = (dataDir: string) =>
  runProgram(process.execPath, ['--import', COMPILE_CACHE, fixture('hold-lock.ts'), dataDir]);
const outcome = (program: Program) =>
  eventually(() => {
    if (program.stdout() === '') throw new Error(`nothing said yet; ${program.stderr()}`);
    return program.stdout().trim();
  });

async function killed(program: Program): Promise<void> {
  program.child.kill('SIGKILL');
  await program.ended;
}

it('records its holder in a file for the owner alone', async () => {
  const dataDir = join(await temporaryFolder(), 'new');
  const lock = await acquireSupervisorLock(dataDir, 0, now);
  await lock.setPort(3100);
  expect(await findSupervisor(dataDir)).toMatchObject({ pid: process.pid, port: 3100, startedAt: now.toISOString() });
  expect((await stat(lockOf(dataDir))).mode & 0o777).toBe(0o600);
  expect((await stat(join(dataDir, 'run'))).mode & 0o777).toBe(0o700);
  await lock.release();
  expect(await readdir(join(dataDir, 'run'))).toEqual([]);
  expect(await findSupervisor(dataDir)).toBeNull();
});

it('refuses a second holder and names the first', async () => {
  const dataDir = await temporaryFolder();
  const lock = await acquireSupervisorLock(dataDir, 3100, now);
  const second = await acquireSupervisorLock(dataDir, 1, now).catch((error: unknown) => error);
  expect(second).toBeInstanceOf(AlreadyLocked);
  expect(second).toMatchObject({ holder: { pid: process.pid, port: 3100 } });
  await lock.release();
});

it('takes over from a holder that was killed', async () => {
  const dataDir = await temporaryFolder();
  const first = pause(dataDir);
  expect(await outcome(first)).toBe('held');
  await killed(first);
  expect(await findSupervisor(dataDir)).toBeNull();
  const lock = await acquireSupervisorLock(dataDir, 3100, now);
  expect(lock.isTakeover).toBe(true);
  await lock.release();
});

it('takes over from a pid that now belongs to another process', async () => {
  const dataDir = await temporaryFolder();
  const lock = await acquireSupervisorLock(dataDir, 3100, now);
  const record = JSON.parse(await readFile(lockOf(dataDir), 'utf8'));
  await writeFile(lockOf(dataDir), JSON.stringify({ ...record, startTime: '1' }));
  await lock.release();
  expect((await acquireSupervisorLock(dataDir, 3100, now)).isTakeover).toBe(true);
});

it.each(['', '{"pid":', '[]'])('takes over a lock that a system crash left as %j', async (content) => {
  const dataDir = await temporaryFolder();
  await mkdir(join(dataDir, 'run'));
  await writeFile(lockOf(dataDir), content);
  expect((await acquireSupervisorLock(dataDir, 3100, now)).isTakeover).toBe(true);
});

it('lets exactly one of many take over, even after an interrupted takeover', async () => {
  const dataDir = await temporaryFolder();
  const dead = pause(dataDir);
  await outcome(dead);
  await killed(dead);
  await writeFile(`${lockOf(dataDir)}.takeover`, await readFile(lockOf(dataDir)));

  const rivals = Array.from({ length: 6 }, () => pause(dataDir));
  const outcomes = await Promise.all(rivals.map(outcome));
  const winners = rivals.filter((_, index) => outcomes[index] === 'held');
  expect(winners).toHaveLength(1);
  expect(await findSupervisor(dataDir)).toMatchObject({ pid: winners[0]?.pid });
  expect(await readdir(join(dataDir, 'run'))).toEqual(['supervisor.json']);
  await Promise.all(rivals.map(killed));
});
