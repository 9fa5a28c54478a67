import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { until } from '../../../../test-support/until.ts';
import { createProcessMarks, detachHere, lockLimitOf } from './child-processes.ts';

const isLinux = process.platform === 'linux';

/** Starts a shell script with a mark; resolves with what it has written to its output. */
async function runMarked(script: string, mark: string | null): Promise<string> {
  const folder = await temporaryFolder();
  const output = join(folder, 'output');
  const stdio = ['r', 'a', 'a'].map((flags, index) => ({ path: index === 0 ? '/dev/null' : output, flags }));
  const env = { PATH: process.env.PATH ?? '' };
  const { exit } = await detachHere({ command: '/bin/sh', args: ['-c', script], cwd: folder, env, stdio, mark });
  await exit;
  const text = () => readFile(output, 'utf8').catch(() => '');
  await until('it has written', async () => (await text()).includes('Max file locks'));
  return text();
}

it.runIf(isLinux)('marks all that a process starts, also a daemon that cleared its environment', async () => {
  const marks = createProcessMarks('/data');
  const mark = await marks.of('STAGE-1');
  const seen = await runMarked('exec setsid -f env -i /bin/cat /proc/self/limits', mark);
  expect(seen).toMatch(new RegExp(`^Max file locks +${mark} +${mark} `, 'm'));
  expect(await marks.isMark(BigInt(mark ?? 0))).toBe(true);
  const own = await lockLimitOf('self');
  expect(own !== null && (await marks.isMark(own))).toBe(false);
});

it.runIf(isLinux)('has one mark for each stage of each data directory, the same after a restart', async () => {
  const marks = await Promise.all([
    ...['STAGE-1', 'STAGE-2'].map((id) => createProcessMarks('/data').of(id)),
    createProcessMarks('/other').of('STAGE-1'),
  ]);
  expect(new Set(marks).size).toBe(3);
  expect(await createProcessMarks('/data').of('STAGE-1')).toBe(marks[0]);
});

it('says that a program is missing, with a mark as without', async () => {
  const job = { command: '/no/such', args: [], cwd: '/', env: {}, stdio: [], mark: '4503599627370497' };
  await expect(detachHere(job)).rejects.toMatchObject({ code: 'ENOENT' });
});
