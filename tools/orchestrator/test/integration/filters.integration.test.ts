import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { describe, expect, it } from 'vitest';
import { itAll } from '../../../../test-support/it-all.ts';
import { REAL_CLAUDE } from '../../../../test-support/real-claude.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { ALL } from '../../../../test-support/variants.ts';
import { fakeClaude } from '../doctor/fake-claude.ts';
import { filteredClaude } from '../support/filtered-claude.ts';
import type { FilterName } from '../support/filters.ts';
import { createKit, type Kit, untilConfirmed } from '../support/kit.ts';

const TOUCH = { tools: [{ name: 'Bash', input: { command: 'echo once >> made.txt' } }] };
const script = () => prompt({ steps: [TOUCH, { text: 'Done.' }] });

const kitWith = async (filter: FilterName) =>
  createKit({ claudePath: await filteredClaude(await temporaryFolder(), filter) });

async function made({ client }: Kit, stageId: string): Promise<string> {
  const { stage } = await client.command('get_stage', { stageId });
  return readFile(join(stage.worktree?.path ?? '', 'made.txt'), 'utf8').catch(() => '');
}

const codes = async ({ client }: Kit, stageId: string) =>
  (await client.transcript(stageId)).flatMap((entry) => (entry.kind === 'notice' ? [entry.code] : []));

const HARMLESS: [FilterName, boolean][] = [
  ['an empty list of open requests is left out', false],
  ['every object has one key more', true],
  ['the answer to initialize says nothing', false],
  ['nothing is told of messages', true],
  ['a line of an unknown type follows each', false],
  ['every object has another order', false],
  ['every line comes late', false],
  ['permission requests do not name their call', false],
  ['results do not say whether they are errors', false],
];

/**
 * A future CLI, or an old one: the real CLI with one thing changed. Each change is harmless or is reported to people; none
 * leaves a session stuck. `npm run test:all` tries all of them.
 */
describe('harmless', () => {
  it.each(HARMLESS.filter(([, isQuick]) => isQuick || ALL).map(([name]) => name))('%s', async (filter) => {
    const kit = await kitWith(filter);
    const { client } = kit;
    const stageId = await kit.startStage(script());
    const { requestId } = await client.event('approval-requested');
    await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
    await untilConfirmed(kit, requestId);
    await client.state(stageId, 'idle');
    expect(await made(kit, stageId)).toBe('once\n');
    expect(await codes(kit, stageId)).not.toContain('foreign-answer');
    // Claude handles the next message as well, which asks for nothing: nothing is left over from the first turn.
    await client.command('send_message', { stageId, message: prompt({ steps: [{ text: 'And that.' }] }) });
    await expect
      .poll(async () => (await client.transcript(stageId)).filter(({ kind }) => kind === 'turn-end').length)
      .toBeGreaterThanOrEqual(2);
    await client.state(stageId, 'idle');
    const { session } = await client.command('get_session', { stageId });
    expect(session).toMatchObject({ queued: 0, lastTurn: { outcome: 'succeeded' } });
  });
});

describe('reported', () => {
  it('a second reply to an answered request raises an alarm, since someone else may have asked', async () => {
    const kit = await kitWith('every line comes twice');
    const stageId = await kit.startStage(prompt({ steps: [{ text: 'Twice.' }] }));
    expect(await kit.alarm(stageId)).toMatchObject({ code: 'foreign-control' });
    await kit.client.state(stageId, 'ended');
  });

  it('a permission request under another name is denied, and reported in the session and its transcript', async () => {
    const kit = await kitWith('permission requests have another subtype');
    const { client } = kit;
    const stageId = await kit.startStage(script());
    await client.event('session-updated', (session) => session.cliGaps.some((gap) => gap.includes('permission')));
    await client.state(stageId, 'idle');
    expect(await codes(kit, stageId)).toContain('unknown-permission-request');
    expect(await made(kit, stageId)).toBe('');
  });

  it('a request that the release does not know is refused with an explanation, and recorded as a gap', async () => {
    const { client, startStage } = await kitWith('output of tasks is refused');
    const stageId = await startStage(prompt({ steps: [{ text: 'Hello.' }] }));
    await client.state(stageId, 'idle');
    const lack = 'the output of background commands cannot be shown';
    await expect(client.command('get_task_output', { stageId, taskId: 'any' })).rejects.toMatchObject({
      code: 'refused_by_claude',
      message: expect.stringContaining(lack),
    });
    expect((await client.command('get_session', { stageId })).session.cliGaps).toContain(lack);
  });

  itAll('a session without CLAUDE.md and hooks says so once on its card and in its transcript', async () => {
    const folder = await temporaryFolder();
    const minimal = await fakeClaude(folder, `#!/bin/sh\nexec '${REAL_CLAUDE}' --bare "$@"\n`);
    const kit = await createKit({ claudePath: minimal });
    const stageId = await kit.startStage(prompt({ steps: [{ text: 'One.' }] }));
    const { cliGaps } = await kit.client.event('session-updated', (session) => session.cliGaps.length > 0);
    expect(cliGaps).toEqual([expect.stringContaining('CLAUDE.md and hooks are left out')]);
    await kit.client.state(stageId, 'idle');
    await kit.client.command('send_message', { stageId, message: prompt({ steps: [{ text: 'Two.' }] }) });
    await expect
      .poll(async () => (await kit.client.transcript(stageId)).filter(({ kind }) => kind === 'turn-end').length)
      .toBe(2);
    expect((await codes(kit, stageId)).filter((code) => code === 'cli-gaps')).toHaveLength(1);
  });

  itAll('a refusal of initialize fails the start at once, with the text of the refusal', async () => {
    const kit = await kitWith('initialize is refused');
    await expect(kit.startStage(script())).rejects.toMatchObject({
      code: 'launch_failed',
      message: expect.stringContaining('refused to begin: Unsupported control request subtype: initialize'),
    });
  });

  it('the end of a turn under another name does not leave the session working forever; the session reports the unknown message', async () => {
    const kit = await kitWith('results have another type');
    const { client } = kit;
    const stageId = await kit.startStage(prompt({ steps: [{ text: 'Done.' }] }));
    await client.event('session-updated', ({ lastTurn }) => lastTurn?.outcome === 'interrupted');
    await client.state(stageId, 'idle');
    const kinds = (await client.transcript(stageId)).map(({ kind }) => kind);
    expect(kinds).toContain('unknown');
  });

  itAll('a request that does not say what would run is denied, and shown in the transcript', async () => {
    const kit = await kitWith('permission requests do not say what would run');
    const stageId = await kit.startStage(script());
    await kit.client.event('session-updated', (session) => session.cliGaps.length > 0);
    await kit.client.state(stageId, 'idle');
    expect(await codes(kit, stageId)).toContain('unknown-permission-request');
    expect(await made(kit, stageId)).toBe('');
  });

  itAll('the model’s words under another name are shown as they came', async () => {
    const kit = await kitWith('messages of the model have another type');
    const stageId = await kit.startStage(prompt({ steps: [{ text: 'A word of the model.' }] }));
    await kit.client.state(stageId, 'idle');
    expect(JSON.stringify(await kit.client.transcript(stageId))).toContain('A word of the model.');
  });
});
