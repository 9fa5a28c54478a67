import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { git } from '../../../../test-support/git.ts';
import { until } from '../../../../test-support/until.ts';
import { createKit } from '../support/kit.ts';
import { setUpReview } from '../support/review.ts';

it('reports what an approved command wrote into the git settings, and runs none of it until a person agrees', async () => {
  const kit = await createKit({ isEmulated: true });
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

it.each(['merge', 'squash', 'rebase'] as const)(
  'refuses a %s without the signature that was asked for later',
  async (method) => {
    const { repo, path, commit, complete, check, head } = await setUpReview();
    await commit();
    await writeFile(join(repo, 'main.txt'), 'main\n');
    await git(repo, 'add', '.');
    await git(repo, 'commit', '--quiet', '-m', 'Main goes on');
    const before = await head();
    await git(repo, 'config', 'commit.gpgSign', 'true');
    const refused = { code: 'merge_refused', message: expect.stringContaining('signed commits (commit.gpgSign)') };
    expect((await check(method)).plan?.refusal).toContain('signed commits (commit.gpgSign)');
    await expect(complete({ merge: method })).rejects.toMatchObject(refused);
    await writeFile(join(path, 'open.txt'), 'open\n');
    await expect(complete({ commit: { message: 'Open' } })).rejects.toMatchObject({ code: 'commit_refused' });
    expect(await head()).toBe(before);
  },
);

it('signs as the person’s git is set up, and names a signer that waits or refuses, with its words', async () => {
  const kit = await createKit({
    isEmulated: true,
    before: async (repo) => {
      const signer = join(repo, '..', 'signer.sh');
      const lines = [
        '#!/bin/sh',
        `echo "$$" >> ${repo}/../pids`,
        `if test -e ${repo}/../waits; then echo "Enter your pass phrase:" >&2; sleep 600 & echo $! >> ${repo}/../pids; wait; fi`,
        `if test -e ${repo}/../refuses; then echo "no secret key" >&2; exit 2; fi`,
        'cat > /dev/null',
        'echo "[GNUPG:] SIG_CREATED D" >&2',
        'printf -- "-----BEGIN PGP SIGNATURE-----\\nmade up\\n-----END PGP SIGNATURE-----\\n"',
      ];
      await writeFile(signer, `${lines.join('\n')}\n`);
      await chmod(signer, 0o755);
      await git(repo, 'config', 'commit.gpgSign', 'true');
      await git(repo, 'config', 'gpg.program', signer);
      await git(repo, 'config', 'callboard.signTimeout', '2');
    },
  });
  const { repo, folder, client } = kit;
  const stageId = await kit.startStage(prompt({ steps: [{ text: 'Done.' }] }));
  await client.state(stageId, 'idle');
  const { stage } = await client.command('get_stage', { stageId });
  await writeFile(join(stage.worktree?.path ?? '', 'a.txt'), 'work\n');
  const complete = () => client.command('complete_stage', { stageId, merge: true, commit: { message: 'Work' } });
  const before = await git(repo, 'rev-parse', 'HEAD');

  await writeFile(join(folder, 'waits'), '');
  await expect(complete()).rejects.toMatchObject({
    code: 'commit_refused',
    message: expect.stringMatching(/The signer .*signer\.sh did not sign the commit within 2 s.*\n.*pass phrase/s),
  });
  const pids = (await readFile(join(folder, 'pids'), 'utf8')).trim().split('\n');
  expect(pids).toHaveLength(2);
  const isRunning = async (pid: string) =>
    /^State:\s+[^ZX]/m.test(await readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''));
  await until('the end of the signer', async () => !(await Promise.all(pids.map(isRunning))).includes(true));
  await rm(join(folder, 'waits'));

  await writeFile(join(folder, 'refuses'), '');
  await expect(complete()).rejects.toMatchObject({
    code: 'commit_refused',
    message: expect.stringMatching(/The signer .*signer\.sh did not sign the commit\. .*no secret key/s),
  });
  await rm(join(folder, 'refuses'));
  expect(await git(repo, 'rev-parse', 'HEAD')).toBe(before);

  expect((await complete()).stage).toMatchObject({ column: 'done', merged: { commits: 1 } });
  const commits = ['HEAD', 'HEAD^2'].map((commit) => git(repo, 'cat-file', 'commit', commit));
  for (const text of await Promise.all(commits)) expect(text).toContain('made up');
});
