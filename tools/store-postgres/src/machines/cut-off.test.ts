import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { until } from '../../../../test-support/until.ts';
import { launchFiles } from '../../../orchestrator/src/core/claude/claude-process.ts';
import { endWithoutStore } from '../../../orchestrator/src/end-all-sessions.ts';
import { dataDirLayout } from '../../../orchestrator/src/platform/data-dir.ts';
import { findMarkedProcesses, LAUNCH_MARKER } from '../../../orchestrator/src/platform/process-table.ts';
import { silent } from '../../../orchestrator/test/support/test-store.ts';
import { endIfCutOff, startCutOff } from './lease.ts';

const AFTER_MS = 600_000;

/** A data directory with one session, whose process is no `claude`, and a clock that the test moves. */
async function scene() {
  const dataDir = await temporaryFolder();
  const launchId = randomUUID();
  const folder = join(dataDirLayout(dataDir).sessions, 'STAGE-1', launchId);
  await mkdir(folder, { recursive: true });
  const env = { PATH: process.env.PATH, [LAUNCH_MARKER]: launchId };
  const child = spawn('sh', ['-c', 'echo up; sleep 600'], { env, detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  const runs = async () => (await findMarkedProcesses()).has(launchId);
  onTestFinished(async () => {
    for (const pid of (await findMarkedProcesses()).get(launchId) ?? []) process.kill(pid, 'SIGKILL');
  });
  await once(child.stdout, 'data');
  const time = { upMs: 1_000_000, boot: 'one' };
  const clock = { upMs: () => time.upMs, bootId: async () => time.boot };
  const file = dataDirLayout(dataDir).renewal;
  const end = async (reason: string) =>
    (await endWithoutStore(dataDir, { log: () => undefined, graceMs: 5_000, reason })).failed;
  const deps = { file, end, log: silent, afterMs: AFTER_MS, clock };
  const start = () => {
    const cutOff = startCutOff({ ...deps, checkIntervalMs: 10 });
    onTestFinished(cutOff.stop);
    return cutOff;
  };
  const noted = () => readFile(file, 'utf8').then(JSON.parse, () => null);
  const reason = () => readFile(launchFiles(folder).endReason, 'utf8');
  return { ...deps, time, runs, start, noted, reason };
}

describe.skipIf(process.platform !== 'linux')('a machine that is cut off', () => {
  it('ends its sessions when the time is over, and keeps why', async () => {
    const { start, time, runs, noted, reason } = await scene();
    const cutOff = start();
    await until('the renewal is noted', async () => (await noted())?.upMs === time.upMs);
    time.upMs += AFTER_MS - 1;
    cutOff.renewed();
    await until('the renewal is noted', async () => (await noted())?.upMs === time.upMs);
    time.upMs += AFTER_MS - 1;
    expect(await runs()).toBe(true);
    time.upMs += 1;
    await until('the session has ended', async () => !(await runs()));
    expect(await reason()).toMatch(/^Callboard ended it: this machine had not reached the database for 10 minutes, /);
  });

  it('counts on in its next process, which may not get as far as the store', async () => {
    const { start, time, runs, noted, ...parts } = await scene();
    await start().stop();
    await until('the renewal is noted', async () => (await noted())?.upMs === time.upMs);
    time.upMs += AFTER_MS - 1;
    await endIfCutOff(parts);
    expect(await runs()).toBe(true);
    time.upMs += 1;
    time.boot = 'two'; // what runs was started after the machine itself
    await endIfCutOff(parts);
    expect(await runs()).toBe(true);
    time.boot = 'one';
    await endIfCutOff(parts);
    expect(await runs()).toBe(false);
  });

  it('ends nothing if it has never had a lease, or cannot read when', async () => {
    const { time, runs, ...parts } = await scene();
    time.upMs += AFTER_MS;
    await endIfCutOff(parts);
    await mkdir(dirname(parts.file), { recursive: true });
    await writeFile(parts.file, '{');
    await endIfCutOff(parts);
    expect(await runs()).toBe(true);
  });
});
