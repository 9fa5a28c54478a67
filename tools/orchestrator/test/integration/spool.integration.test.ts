import { appendFile, readdir, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from '@callboard/runtime/process-identity';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { launchFiles } from '../../src/core/claude/claude-process.ts';
import { createKit, type Kit } from '../support/kit.ts';
import { killProcess, livingProcess } from '../support/living-process.ts';

const bash = { name: 'Bash', input: { command: 'touch made.txt', description: 'Make it' } };
const asks = prompt({ steps: [{ text: 'Before.', tools: [bash] }, { text: 'Never said.' }] });

async function spoolOf({ dataDir }: Kit, stageId: string): Promise<string> {
  const folder = join(dataDir, 'sessions', stageId);
  const [launch] = await readdir(folder);
  return launchFiles(join(folder, launch ?? '')).spool;
}

const entries = ({ client }: Kit, stageId: string) => client.transcript(stageId);

const lossIn = async (kit: Kit, stageId: string) =>
  (await entries(kit, stageId)).find((entry) => entry.kind === 'notice' && entry.code === 'output-lost');

/** Checks that the session was ended, says why where people look, and resumes with a message without reading anything twice. */
async function expectEndedAndResumable(kit: Kit, stageId: string): Promise<void> {
  const { client } = kit;
  await client.state(stageId, 'ended');
  const { stage } = await client.command('get_stage', { stageId });
  expect(stage).toMatchObject({
    column: 'needs-you',
    session: { lastTurn: { outcome: 'interrupted', message: expect.stringContaining('can no longer be read') } },
  });
  expect(await lossIn(kit, stageId)).toMatchObject({ text: expect.stringContaining('truncated its output file') });
  expect((await client.command('get_pending', { stageId })).pending).toEqual([]);
  const said = async () => (await entries(kit, stageId)).flatMap((entry) => (entry.kind === 'text' ? entry.text : []));
  expect(await said()).toEqual(['Before.']);
  await client.command('send_message', { stageId, message: prompt({ steps: [{ text: 'Here again.' }] }) });
  await expect.poll(said).toContain('Here again.');
  expect((await said()).filter((text) => text === 'Before.')).toHaveLength(1);
}

it('ends a session whose spool is truncated while it is being read, and says so', async () => {
  // Nothing that it prints afterwards is read, not even that it obeys.
  const graces = { interruptMs: 500, endSessionMs: 5_000, signalMs: 30_000 };
  const kit = await createKit({ limits: { graces } });
  const stageId = await kit.startStage(asks);
  await kit.client.event('approval-requested');
  const identity = await livingProcess(kit, stageId);
  await truncate(await spoolOf(kit, stageId), 10);
  await expectEndedAndResumable(kit, stageId);
  expect(await isAlive(identity)).toBe(false);
});

it('ends a session whose spool was truncated while nobody read it, and says so', async () => {
  const kit = await createKit({ where: 'apart' });
  const stageId = await kit.startStage(asks);
  await kit.client.event('approval-requested');
  await kit.kill();
  await truncate(await spoolOf(kit, stageId), 10);
  await kit.start('apart');
  await expectEndedAndResumable(kit, stageId);
});

it('keeps half a line of a process that was killed while writing it', async () => {
  const kit = await createKit();
  const stageId = await kit.startStage(asks);
  await kit.client.event('approval-requested');
  const { pid } = await livingProcess(kit, stageId);
  const spool = await spoolOf(kit, stageId);
  process.kill(pid, 'SIGSTOP');
  await appendFile(spool, '{"type":"assistant","message":{"id":"m","content":[{"type":"te');
  process.kill(pid, 'SIGKILL');
  await kit.client.state(stageId, 'ended');
  const kinds = (await entries(kit, stageId)).map((entry) => (entry.kind === 'notice' ? entry.code : entry.kind));
  const at = kinds.indexOf('output-cut-off');
  expect(kinds.slice(at)).toEqual(['output-cut-off', 'unknown', 'decision', 'process-ended']);
  expect((await entries(kit, stageId))[at + 1]).toMatchObject({
    raw: expect.stringContaining('"content":[{"type":"te'),
  });
});

it('asks a living process again for an open request whose line was cut off', async () => {
  const kit = await createKit();
  const { client } = kit;
  const stageId = await kit.startStage(asks);
  const { requestId } = await client.event('approval-requested');
  const asked = client.events.filter(({ type }) => type === 'approval-requested').length;
  // A disk that was full for a moment leaves this: the beginning of a line, directly followed by the next whole line.
  const line = JSON.stringify({ type: 'system', subtype: 'status', permissionMode: 'plan' });
  await appendFile(await spoolOf(kit, stageId), `{"type":"control_request","request_id":"lost","req${line}\n`);
  await client.event('mode-changed', ({ mode }) => mode === 'plan');
  await client.event('mode-changed', ({ mode }) => mode === 'default'); // from the reply to `initialize`
  expect(client.events.filter(({ type }) => type === 'approval-requested')).toHaveLength(asked);
  const reply = await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  expect(reply).toMatchObject({ decision: { delivery: 'confirmed' } });
});

it('reports that the last output of a process is lost if its folder was deleted and it has ended', async () => {
  const kit = await createKit({ where: 'apart' });
  const stageId = await kit.startStage(asks);
  await kit.client.event('approval-requested');
  const identity = await livingProcess(kit, stageId);
  await kit.kill();
  await rm(join(kit.dataDir, 'sessions'), { recursive: true });
  await killProcess(identity);
  await kit.start('apart');
  await kit.client.state(stageId, 'ended');
  expect(await lossIn(kit, stageId)).toMatchObject({ text: expect.stringContaining('was deleted') });
});
