import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { identify } from '@callboard/runtime/process-identity';
import { prompt } from '@callboard/scripted-model';
import { expect, it, onTestFinished } from 'vitest';
import { untilWritten } from '../support/conversation.ts';
import { createKit } from '../support/kit.ts';
import { killProcess, livingProcess } from '../support/living-process.ts';

it('marks a session of an earlier boot as interrupted, and does not touch the process that now has its pid', async () => {
  const kit = await createKit({ isInFile: true, where: 'apart' });
  const bash = { name: 'Bash', input: { command: 'touch made.txt', description: 'Make it' } };
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'Ready.' }] }));
  await kit.client.state(stageId, 'idle');
  await kit.client.command('send_message', {
    stageId,
    message: prompt({ steps: [{ tools: [bash] }, { text: 'Done.' }] }),
  });
  const { toolUseId } = await kit.client.event('approval-requested');
  await untilWritten(kit, stageId, toolUseId ?? '');
  const claude = await livingProcess(kit, stageId);
  await kit.kill();
  await killProcess(claude);

  // After a reboot another process may have its pid, even its start time; only the boot id tells them apart.
  const innocent = spawn('sleep', ['600']);
  onTestFinished(() => void innocent.kill('SIGKILL'));
  await once(innocent, 'spawn');
  const identity = { ...(await identify(innocent.pid ?? -1)), bootId: 'of an earlier boot' };
  const store = new DatabaseSync(join(kit.dataDir, 'store.sqlite'));
  store.prepare('update launches set process = ?').run(JSON.stringify(identity));
  store.close();

  await kit.start();
  expect(kit.client.init.data.stages).toMatchObject([
    { column: 'needs-you', session: { state: 'ended', lastTurn: { outcome: 'interrupted' } } },
  ]);
  expect(kit.client.init.data.pending).toEqual([]);
  await expect(kit.client.command('stop_stage', { stageId })).rejects.toMatchObject({ code: 'not_running' });
  expect(innocent.exitCode).toBeNull();
  expect(innocent.signalCode).toBeNull();

  await kit.client.command('send_message', { stageId, message: prompt({ steps: [{ text: 'Back again.' }] }) });
  const back = async () =>
    (await kit.client.transcript(stageId)).some((entry) => entry.kind === 'text' && entry.text === 'Back again.');
  await expect.poll(back).toBe(true);
  expect(innocent.signalCode).toBeNull();
});
