import { spawn } from 'node:child_process';
import { DatabaseSync } from 'node:sqlite';
import { isAlive } from '@callboard/runtime/process-identity';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { endAllSessions } from '../../src/end-all-sessions.ts';
import { dataDirLayout } from '../../src/platform/data-dir.ts';
import { COMMAND_MARKER, findMarkedProcesses } from '../../src/platform/process-table.ts';
import { noteSharedStore } from '../../src/store/store-location.ts';
import { createKit } from '../support/kit.ts';
import { livingProcess } from '../support/living-process.ts';

it('ends the sessions of a data directory whose shared store is out of reach', async () => {
  const kit = await createKit({ isEmulated: true });
  const command = { name: 'Bash', input: { command: 'touch started; sleep 300', description: 'Wait' } };
  const stageId = await kit.startStage(prompt({ steps: [{ tools: [command] }] }));
  const { requestId } = await kit.client.event('approval-requested');
  const { launchId } = (await kit.client.command('get_session', { stageId })).session;
  await kit.client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  const marked = async () => (await findMarkedProcesses()).get(launchId ?? '') ?? [];
  await expect.poll(async () => (await marked()).length).toBeGreaterThan(1);
  const claude = await livingProcess(kit, stageId);
  const { stage } = await kit.client.command('get_stage', { stageId });
  const cwd = stage.worktree?.path ?? '';
  const left = spawn('sleep', ['300'], { cwd, env: { PATH: process.env.PATH, [COMMAND_MARKER]: 'run-1' } });
  await kit.stop();

  await noteSharedStore(dataDirLayout(kit.dataDir).storeLocation, 'nowhere.example:5432/board', new Date());
  const lines: string[] = [];
  const result = await endAllSessions(kit.dataDir, { log: (line) => void lines.push(line) });
  expect(result).toEqual({ ended: 1, failed: [] });
  expect(lines).toEqual([`ended the session of ${stageId}`]);
  expect(await marked()).toEqual([]);
  expect(await isAlive(claude)).toBe(false);
  await expect.poll(() => left.signalCode).toBe('SIGTERM');
});

it('ends the sessions of a data directory whose store a newer Callboard wrote', async () => {
  const kit = await createKit({ isEmulated: true, isInFile: true });
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'Ready.' }] }));
  await kit.client.state(stageId, 'idle');
  const claude = await livingProcess(kit, stageId);
  await kit.stop();
  const database = new DatabaseSync(dataDirLayout(kit.dataDir).database);
  database.exec('pragma user_version = 9999');
  database.close();
  expect(await endAllSessions(kit.dataDir, { log: () => undefined })).toEqual({ ended: 1, failed: [] });
  expect(await isAlive(claude)).toBe(false); // a process that nobody has waited for yet still takes signals
});
