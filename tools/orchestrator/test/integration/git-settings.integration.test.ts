import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { createKit } from '../support/kit.ts';

it('reports what an approved command wrote into the git settings, and runs none of it until a person agrees', async () => {
  const kit = await createKit();
  const { client, startStage, projectId, folder } = kit;
  const [script, trace] = [join(folder, 'monitor.sh'), join(folder, 'ran')];
  // An editor that only Callboard's git gets distinguishes it from Claude Code's git.
  await writeFile(script, `#!/bin/sh\necho "by \${GIT_SEQUENCE_EDITOR-another}" >> ${trace}\nexit 1\n`);
  await chmod(script, 0o755);
  const ranByUs = async () => (await readFile(trace, 'utf8').catch(() => '')).includes('by :');

  const steps = [
    { tools: [{ name: 'Bash', input: { command: `git config core.fsmonitor ${script} && echo one > one.txt` } }] },
    { text: 'Done.' },
  ];
  const stageId = await startStage(prompt({ steps }));
  const { requestId } = await client.event('approval-requested', () => true);
  await client.command('approve_tool', { stageId, requestId, decision: 'allow' });
  await client.state(stageId, 'idle');
  const { project } = await client.event('project-updated', (data) => data.project.gitSettings.needed);
  const { items, hash } = project.gitSettings;
  expect(items).toMatchObject([
    { kind: 'config', name: 'core.fsmonitor', value: script, file: join(kit.repo, '.git', 'config') },
  ]);
  const files = async () => (await client.command('get_diff', { stageId })).diff.files.map(({ path }) => path);
  expect(await files()).toEqual(['one.txt']);
  await client.command('suggest_files', { stageId, query: 'one' });
  const next = await startStage(prompt({ steps: [{ text: 'Another one.' }] }));
  await client.state(next, 'idle');
  expect(await ranByUs()).toBe(false);

  await kit.stop();
  await kit.start();
  const { projects } = await kit.client.command('get_projects', {});
  expect(projects[0]?.gitSettings).toMatchObject({ needed: true, hash });
  await expect(kit.client.command('agree_git_settings', { projectId, hash: 'another' })).rejects.toMatchObject({
    code: 'git_settings_changed',
  });
  const agreed = await kit.client.command('agree_git_settings', { projectId, hash });
  expect(agreed.project.gitSettings).toEqual({ needed: false, hash: '', items: [] });
  await kit.client.command('get_diff', { stageId });
  expect(await ranByUs()).toBe(true);
});
