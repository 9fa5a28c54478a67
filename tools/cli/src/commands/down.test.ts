import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { eventually } from '../../../../test-support/until.ts';
import { fixture, runProgram, untilGone } from '../../test/cli-process.ts';
import { type EndAllSessions, nodePlatform } from '../platform.ts';
import { run } from '../run.ts';

/** Runs `callboard down` in this process. */
async function down(dataDir: string, endAllSessions: EndAllSessions) {
  const out: string[] = [];
  const err: string[] = [];
  const exitCode = await run(['down', '--data-dir', dataDir], {
    ...nodePlatform(process),
    out: (line) => void out.push(line),
    err: (line) => void err.push(line),
    endAllSessions,
  });
  return { exitCode, out, err };
}

const unexpected: EndAllSessions = () => Promise.reject(new Error('there was nothing to end'));

it('does nothing without a data directory', async () => {
  const dataDir = join(await temporaryFolder(), 'none');
  const out = [`There is nothing to end: ${dataDir} does not exist.`];
  expect(await down(dataDir, unexpected)).toEqual({ exitCode: 0, out, err: [] });
});

it.each([
  [0, 'No session was running.'],
  [1, 'Ended 1 session.'],
  [3, 'Ended 3 sessions.'],
])('says how many sessions it ended: %i', async (ended, line) => {
  const dataDir = await temporaryFolder();
  const seen: string[] = [];
  const result = await down(dataDir, async (folder) => {
    seen.push(folder);
    return { ended, failed: [] };
  });
  expect(result).toEqual({ exitCode: 0, out: [line], err: [] });
  expect(seen).toEqual([dataDir]);
});

it('names the sessions that it could not end, and prints the log', async () => {
  const dataDir = await temporaryFolder();
  const result = await down(dataDir, async (_folder, { log }) => {
    log('STAGE-2 belongs to another user');
    return { ended: 1, failed: ['STAGE-2', 'STAGE-3'] };
  });
  expect(result).toEqual({
    exitCode: 1,
    out: ['Ended 1 session.'],
    err: [
      'callboard: STAGE-2 belongs to another user',
      'callboard: these could not be ended and are still running: STAGE-2, STAGE-3',
    ],
  });
});

it('ends a running Callboard before the sessions, so that nothing starts them again', async () => {
  const dataDir = join(await temporaryFolder(), 'data');
  await mkdir(dataDir);
  const args = [fixture('callboard.js'), '--data-dir', dataDir, '--port', '0', '--orchestrator-port', '0'];
  const program = runProgram(process.execPath, args);
  await eventually(() => expect(program.stdout()).toContain('Callboard ready'));
  const { exitCode, out } = await down(dataDir, async () => {
    await untilGone(program.pid);
    return { ended: 2, failed: [] };
  });
  expect(await program.ended).toBe(0);
  expect(exitCode).toBe(0);
  expect(out).toEqual([`Ended the Callboard that ran on ${dataDir} (process ${program.pid}).`, 'Ended 2 sessions.']);
});
