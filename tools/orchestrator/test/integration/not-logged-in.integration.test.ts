import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CONTINUE_MESSAGE } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createKit } from '../support/kit.ts';

it('says that Claude is not logged in, notices a login, and continues in the same process', async () => {
  const kit = await createKit({ isLoggedOut: true, limits: { loginCheckIntervalMs: 50 } });
  const { client, startStage } = kit;
  const stageId = await startStage(prompt({ steps: [{ text: 'Here at last.' }] }));
  await client.state(stageId, 'idle');
  const { stage } = await client.command('get_stage', { stageId });
  expect(stage).toMatchObject({ column: 'needs-you', session: { lastTurn: { code: 'not-logged-in' } } });
  expect(stage.session?.lastTurn?.message).not.toContain('/login');
  await client.notices(({ claude }) => claude.state === 'not-logged-in' && claude.command === 'claude');

  const config = join(kit.env.HOME ?? '', '.claude');
  await mkdir(config, { recursive: true });
  const claudeAiOauth = {
    accessToken: 'scripted-model',
    expiresAt: Date.now() + 3_600_000,
    scopes: ['user:inference'],
  };
  await writeFile(join(config, '.credentials.json'), JSON.stringify({ claudeAiOauth }));
  await client.notices(({ claude }) => claude.state === 'ready');
  await client.command('send_message', { stageId, message: CONTINUE_MESSAGE });
  await client.event('session-updated', ({ lastTurn }) => lastTurn?.outcome === 'succeeded');
  const entries = await client.transcript(stageId);
  expect(entries).toContainEqual(expect.objectContaining({ kind: 'text', text: 'Here at last.' }));
});
