import { execFile } from 'node:child_process';
import { closeSync, constants, existsSync, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { prompt } from '@callboard/scripted-model';
import { expect, it, onTestFinished } from 'vitest';
import { itAll } from '../../../../test-support/it-all.ts';
import { until } from '../../../../test-support/until.ts';
import { ALL } from '../../../../test-support/variants.ts';
import { createKit } from '../support/kit.ts';
import { watchDatabases } from '../support/read-only-store.ts';
import { canMount, mountSmallDisk } from '../support/small-disk.ts';

const run = promisify(execFile);
const CALLBOARD = fileURLToPath(new URL('../../../cli/bin/callboard.js', import.meta.url));
const bash = { name: 'Bash', input: { command: 'touch made.txt', description: 'Make it' } };

/** Runs `callboard start` until it gives up, and returns how it ended. */
async function startInVain(dataDir: string, env: Record<string, string>): Promise<{ code: unknown; stderr: string }> {
  const ports = ['--port', '0', '--orchestrator-port', '0'];
  try {
    await run(process.execPath, [CALLBOARD, 'start', '--data-dir', dataDir, '--no-open', ...ports], {
      env,
      timeout: 60_000, // a start of Callboard, which may bundle first
    });
  } catch (error) {
    if (error instanceof Error && 'code' in error && 'stderr' in error) {
      return { code: error.code, stderr: String(error.stderr) };
    }
    throw error;
  }
  throw new Error('it has started');
}

it.runIf(canMount)('says once at start that the data directory is read-only, and gives up', async () => {
  const disk = await mountSmallDisk(16);
  const kit = await createKit({ dataDir: disk.folder });
  await kit.stop();
  await disk.remount('ro');
  await expect(kit.start()).rejects.toMatchObject({
    code: 'data_dir_unwritable',
    message: expect.stringMatching(/read-only\. Make it writable, or use another --data-dir/),
  });
  const { code, stderr } = await startInVain(disk.folder, kit.env);
  expect(code).toBeGreaterThan(0);
  expect(stderr).toMatch(/cannot be (used|written to)/);
  expect(stderr.split('\n').filter((line) => line.includes(disk.folder))).toHaveLength(1);
  await disk.remount('rw');
});

it.runIf(canMount && ALL)(
  'says once at start that only the store is read-only, and does not call it damaged',
  async () => {
    const disk = await mountSmallDisk(16);
    const kit = await createKit({ dataDir: disk.folder });
    await kit.stop();
    const store = `${disk.folder}/store.sqlite`;
    await run('mount', ['--bind', store, store]);
    onTestFinished(async () => void (await run('umount', ['--lazy', store])));
    await run('mount', ['-o', 'remount,bind,ro', store]);
    const { code, stderr } = await startInVain(disk.folder, kit.env);
    expect(code).toBeGreaterThan(0);
    expect(stderr).toMatch(/The store in .* cannot be written: the data directory is read-only\. Make it writable/);
    expect(stderr).not.toContain('damaged');
    expect(stderr.split('cannot be written:')).toHaveLength(2);
  },
);

it('answers with an explanation while the store is read-only, claims no success, and continues once it is writable', async () => {
  const databases = watchDatabases();
  const kit = await createKit({ limits: { diskCheckIntervalMs: 50 } });
  const { client } = kit;
  const stageId = await kit.startStage(prompt({ steps: [{ tools: [bash] }, { text: 'Done.' }] }));
  const { requestId } = await client.event('approval-requested');
  databases.setReadOnly(true);
  const refusal = {
    code: 'storage_failed',
    message: expect.stringMatching(/did not happen: the data directory is read-only\. Make it writable/),
  };
  await expect(client.command('approve_tool', { stageId, requestId, decision: 'allow' })).rejects.toMatchObject(
    refusal,
  );
  await expect(client.command('send_message', { stageId, message: 'Hello?' })).rejects.toMatchObject(refusal);
  await client.notices(({ warnings }) => warnings.some((text) => text.includes('read-only')));
  expect((await client.command('get_pending', { stageId })).pending).toMatchObject([{ requestId }]);
  expect((await client.command('get_queue', { stageId })).queue).toEqual([]);
  databases.setReadOnly(false);
  await client.notices(({ warnings }) => warnings.length === 0);
  const reply = await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  expect(reply).toMatchObject({ decision: { delivery: 'confirmed' } });
  await client.state(stageId, 'idle');
});

it('ingests output printed while the store was read-only, once, when it is writable again', async () => {
  const databases = watchDatabases();
  const kit = await createKit({ limits: { diskCheckIntervalMs: 50 } });
  const { client, model } = kit;
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'Said meanwhile.', gate: 'go' }] }));
  await client.state(stageId, 'busy');
  databases.setReadOnly(true);
  model.release('go');
  await client.notices(({ warnings }) => warnings.length > 0);
  databases.setReadOnly(false);
  await client.state(stageId, 'idle');
  const texts = (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'text' ? entry.text : []));
  expect(texts).toEqual(['Said meanwhile.']);
});

itAll('does not report that all is well if the store begins to fail during that check', async () => {
  const databases = watchDatabases();
  const { client, dataDir } = await createKit({ limits: { diskCheckIntervalMs: 60_000 } });
  // The check reads `doctor`'s findings, and takes as long as the test holds the other end.
  const report = join(dataDir, 'doctor.json');
  await until('the version of claude is noted in it', () => existsSync(report));
  await rm(report);
  await run('mkfifo', [report]);
  const board = client.command('get_board');
  let end = -1;
  await until('the report is being read', () => {
    try {
      end = openSync(report, constants.O_WRONLY | constants.O_NONBLOCK);
      return true;
    } catch {
      return false; // nobody reads
    }
  });
  await rm(report);
  databases.setReadOnly(true);
  const stage = { projectId: 'shop', title: 'A', prompt: 'x' };
  await expect(client.command('create_stage', stage)).rejects.toMatchObject({ code: 'storage_failed' });
  closeSync(end);
  expect((await board).warnings).toEqual([expect.stringContaining('Nothing can be stored')]);
  databases.setReadOnly(false);
});
