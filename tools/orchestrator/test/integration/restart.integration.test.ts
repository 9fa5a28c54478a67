import { mkdir, readFile, readlink, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createKit, type Kit, untilConfirmed } from '../support/kit.ts';
import { killProcess, livingProcess } from '../support/living-process.ts';
import { withoutGaps } from '../support/without-gaps.ts';

const appendOnce = { name: 'Bash', input: { command: 'echo once >> made.txt', description: 'Write it' } };

async function written(kit: Kit, stageId: string): Promise<string> {
  const { stage } = await kit.client.command('get_stage', { stageId });
  return readFile(join(stage.worktree?.path ?? '', 'made.txt'), 'utf8');
}

it('answers, after a SIGKILL of the orchestrator, the same request of the same process, once', async () => {
  const kit = await createKit({ where: 'apart' });
  const stageId = await kit.startStage(prompt({ steps: [{ tools: [appendOnce] }, { text: 'Done.' }] }));
  const asked = await kit.client.event('approval-requested');
  const claude = await livingProcess(kit, stageId);
  await kit.kill();
  await kit.start('apart');
  expect(kit.client.init.data.pending).toMatchObject([
    { stageId, requestId: asked.requestId, createdAt: asked.createdAt },
  ]);
  expect(await livingProcess(kit, stageId)).toEqual(claude);
  await kit.client.command('approve_tool', { stageId, requestId: asked.requestId, decision: 'allow' });
  await untilConfirmed(kit, asked.requestId);
  await kit.client.state(stageId, 'idle');
  expect(await written(kit, stageId)).toBe('once\n');
  const kinds = withoutGaps(await kit.client.transcript(stageId)).map((entry) => entry.kind);
  expect(kinds).toEqual(['user', 'tool-use', 'decision', 'tool-result', 'text', 'turn-end']);
});

it('retries re-attaching to a session, reports it on the board meanwhile, and loses nothing of the session', async () => {
  const kit = await createKit({ where: 'apart' });
  const stageId = await kit.startStage(prompt({ steps: [{ tools: [appendOnce] }, { text: 'Done.' }] }));
  const { requestId } = await kit.client.event('approval-requested');
  const input = await readlink(`/proc/${(await livingProcess(kit, stageId)).pid}/fd/0`);
  await kit.kill();
  await rename(input, `${input}.aside`);
  await mkdir(input); // a folder cannot be opened for writing
  await kit.start('apart'); // there a reply waits only two seconds for its confirmation
  expect(kit.client.init.data).toMatchObject({
    pending: [{ stageId, requestId }],
    warnings: expect.arrayContaining([expect.stringMatching(/^One session could not be re-attached \(EISDIR/)]),
  });
  const unreached = { code: 'not_running', message: expect.stringContaining('could not re-attach to the process') };
  await expect(kit.client.command('interrupt', { stageId })).rejects.toMatchObject(unreached);
  await expect(kit.client.command('set_mode', { stageId, mode: 'plan' })).rejects.toMatchObject(unreached);
  await kit.client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await rmdir(input);
  await rename(`${input}.aside`, input);
  await kit.client.notices(({ warnings }) => !warnings.some((text) => text.startsWith('One session could not')));
  await kit.client.state(stageId, 'idle');
  await untilConfirmed(kit, requestId);
  expect(await written(kit, stageId)).toBe('once\n');
});

it('ingests what happened while no orchestrator ran', async () => {
  const kit = await createKit({ where: 'apart' });
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'Meanwhile.', gate: 'go' }] }));
  await kit.model.waitForRequest((request) => JSON.stringify(request.messages).includes('script'));
  await kit.client.command('send_message', { stageId, message: prompt({ steps: [{ text: 'And the queue too.' }] }) });
  await kit.kill();
  kit.model.release('go');
  await kit.start();
  await expect
    .poll(async () => (await kit.client.transcript(stageId)).flatMap((e) => (e.kind === 'text' ? e.text : [])))
    .toEqual(['Meanwhile.', 'And the queue too.']);
});

it('shows a session whose process died meanwhile as interrupted, and continues it at a click', async () => {
  const kit = await createKit({ where: 'apart' });
  const script = { steps: [{ text: 'I start.', tools: [appendOnce] }, { text: 'I went on.' }] };
  const stageId = await kit.startStage(prompt(script));
  const asked = await kit.client.event('approval-requested');
  await kit.client.event('transcript-appended', ({ index }) => index >= 2);
  const claude = await livingProcess(kit, stageId);
  await kit.kill();
  await killProcess(claude);
  await kit.start();
  const [stage] = kit.client.init.data.stages;
  expect(stage).toMatchObject({
    column: 'needs-you',
    session: { state: 'ended', lastTurn: { outcome: 'interrupted' } },
  });
  expect(kit.client.init.data.pending).toEqual([]);
  await expect(
    kit.client.command('approve_tool', { stageId, requestId: asked.requestId, decision: 'allow' }),
  ).rejects.toMatchObject({ code: 'request_closed', decision: { outcome: 'closed' } });
});

it('detects the death of a process at once, closes its request and reports what happened', async () => {
  const kit = await createKit();
  const stageId = await kit.startStage(prompt({ steps: [{ tools: [appendOnce] }, { text: 'Done.' }] }));
  const { requestId } = await kit.client.event('approval-requested');
  await killProcess(await livingProcess(kit, stageId));
  await kit.client.event(
    'approval-resolved',
    (decision) => decision.requestId === requestId && decision.outcome === 'closed',
  );
  await kit.client.state(stageId, 'ended');
  const { session } = await kit.client.command('get_session', { stageId });
  expect(session.lastTurn).toMatchObject({ outcome: 'interrupted', message: expect.stringContaining('SIGKILL') });
});

it('refuses a second orchestrator on the same data, and names the first', async () => {
  const kit = await createKit();
  await expect(kit.start('apart')).rejects.toThrow(`process ${process.pid}`);
});

it('says why a session cannot start, and starts it once the cause is gone', async () => {
  const kit = await createKit();
  const claudePath = kit.config.claudePath;
  await kit.stop();
  kit.config.claudePath = '/nowhere/claude';
  await kit.start();
  await expect(kit.startStage(prompt({ steps: [{ text: 'Here I am.' }] }))).rejects.toMatchObject({
    code: 'claude_missing',
  });
  const { stage } = await kit.client.command('get_stage', { stageId: 'STAGE-1' });
  expect(stage).toMatchObject({ column: 'needs-you', session: { state: 'failed' } });
  await kit.stop();
  kit.config.claudePath = claudePath;
  await kit.start();
  await kit.client.command('start_stage', { stageId: stage.id });
  await kit.client.state(stage.id, 'idle');
  const texts = (await kit.client.transcript(stage.id)).flatMap((entry) => (entry.kind === 'text' ? entry.text : []));
  expect(texts).toEqual(['Here I am.']);
});
