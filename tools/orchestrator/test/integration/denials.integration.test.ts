import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Decision } from '@callboard/contract';
import { prompt, type Script } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { itAll } from '../../../../test-support/it-all.ts';
import { createKit, type Kit } from '../support/kit.ts';

const bash = (command: string) => ({ tools: [{ name: 'Bash', input: { command } }] });
const say = (...steps: Script['steps']) => prompt({ steps: [...steps, { text: 'Done.' }] });

/** The user's own settings, which need no trust in a repository. */
async function userSettings({ env }: Kit, settings: Record<string, unknown>): Promise<void> {
  const folder = join(env.HOME ?? '', '.claude');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'settings.json'), JSON.stringify(settings));
}

const columnOf = async ({ client }: Kit, stageId: string) =>
  (await client.command('get_stage', { stageId })).stage.column;
const logOf = async ({ client }: Kit, filter: Record<string, unknown>): Promise<Decision[]> =>
  (await client.command('get_decisions', filter)).decisions;

const HOOK = {
  hookSpecificOutput: {
    hookEventName: 'PreToolUse',
    permissionDecision: 'deny',
    permissionDecisionReason: 'no publishing here',
  },
};
const SETTINGS = {
  permissions: { deny: ['Bash(npm run *)', 'Read(//etc/**)'] },
  hooks: {
    PreToolUse: [{ matcher: 'WebFetch', hooks: [{ type: 'command', command: `echo '${JSON.stringify(HOOK)}'` }] }],
  },
};

it('counts and logs denials by Claude Code itself (rule, hook or mode), and needs a person when a denial came last', async () => {
  const kit = await createKit();
  const { client, startStage } = kit;
  await userSettings(kit, SETTINGS);

  const stageId = await startStage(say(bash('npm run foo')));
  await client.event('decision-updated', (decision) => decision.denial?.detail === 'Bash(npm run *)');
  await client.state(stageId, 'idle');
  expect(await columnOf(kit, stageId)).toBe('needs-you');
  expect((await client.command('get_session', { stageId })).session).toMatchObject({
    denials: 1,
    openDenial: { source: 'rule', detail: 'Bash(npm run *)', asked: 'Bash npm run foo' },
  });

  // A file tool under a rule, which has no line for the denial; then a call that runs.
  const read = { tools: [{ name: 'Read', input: { file_path: '/etc/hostname' } }] };
  await client.command('send_message', { stageId, message: say(read, bash('ls')) });
  await client.event('session-updated', ({ denials, state }) => denials === 2 && state === 'idle');
  expect(await columnOf(kit, stageId)).toBe('review');

  const fetch = { tools: [{ name: 'WebFetch', input: { url: 'https://example.com/', prompt: 'Look' } }] };
  await client.command('send_message', { stageId, message: say(fetch) });
  await client.event('session-updated', ({ denials, state }) => denials === 3 && state === 'idle');
  expect(await columnOf(kit, stageId)).toBe('needs-you');
  await client.command('acknowledge_denial', { stageId });
  expect(await columnOf(kit, stageId)).toBe('review');
  await expect(client.command('acknowledge_denial', { stageId })).rejects.toMatchObject({ code: 'no_denial' });

  await client.command('set_mode', { stageId, mode: 'dontAsk' });
  await client.command('send_message', { stageId, message: say(bash('touch x')) });
  await client.event('session-updated', ({ denials, state }) => denials === 4 && state === 'idle');

  expect(await logOf(kit, { source: 'hook' })).toMatchObject([
    {
      toolName: 'WebFetch',
      denial: { detail: 'PreToolUse:WebFetch' },
      reason: 'no publishing here',
      by: 'Claude Code',
    },
  ]);
  expect(await logOf(kit, { source: 'mode' })).toMatchObject([
    { asked: 'Bash touch x', denial: { detail: 'dontAsk' } },
  ]);
  expect((await logOf(kit, { source: 'rule' })).map(({ asked }) => asked)).toEqual([
    'Read /etc/hostname',
    'Bash npm run foo',
  ]);
  expect(await logOf(kit, { source: 'person' })).toEqual([]);
  const { entries } = await client.command('get_transcript', { stageId, limit: 100 });
  expect(entries.filter(({ kind }) => kind === 'decision')).toHaveLength(4);
  expect(entries.filter((entry) => entry.kind === 'notice' && entry.code === 'permission-denied')).toEqual([]);
});

itAll('does not count denials by a person', async () => {
  const kit = await createKit();
  const { client, startStage } = kit;
  const stageId = await startStage(say(bash('touch x')));
  const { requestId } = await client.event('approval-requested');
  await client.command('approve_tool', { stageId, requestId, decision: 'deny', reason: 'Not now' });
  await client.state(stageId, 'idle');
  expect((await client.command('get_session', { stageId })).session).toMatchObject({ denials: 0, openDenial: null });
  expect(await columnOf(kit, stageId)).toBe('review');
  expect(await logOf(kit, {})).toMatchObject([{ by: 'Ada', denial: null }]);
});
