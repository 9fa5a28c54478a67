import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { until } from '../../../../../test-support/until.ts';
import { openTestStore, sampleProject } from '../../../test/support/test-store.ts';
import { createEditors } from './dev-servers.ts';

/** A machine whose PATH has these editors: each writes down what it was asked to open. */
async function setUp(installed: string[], editor: string | null = null) {
  const folder = await temporaryFolder();
  const [bin, path, opened] = [join(folder, 'bin'), join(folder, 'a "worktree" $HOME'), join(folder, 'opened')];
  for (const one of [bin, path]) await mkdir(one);
  for (const name of installed) {
    await writeFile(join(bin, name), `#!/bin/sh\nprintf '%s %s' ${name} "$*" > '${opened}'\n`);
    await chmod(join(bin, name), 0o755);
  }
  const { store, addStage } = await openTestStore();
  await store.transact((tx) => tx.projects.save(sampleProject({ settings: { editor } })));
  const stageId = await addStage({ worktree: { path, branch: 'callboard/S1', base: 'abc' } });
  const editors = createEditors({ store, requireInPlace: () => undefined, env: { PATH: `${bin}:/usr/bin:/bin` } });
  const told = async () => {
    await until('it is opened', () =>
      readFile(opened, 'utf8').then(
        (text) => text !== '',
        () => false,
      ),
    );
    return readFile(opened, 'utf8');
  };
  return { editors, stageId, path, told, addStage };
}

it('opens the worktree with the first editor on PATH', async () => {
  const { editors, stageId, path, told } = await setUp(['zed', 'code']);
  expect(await editors.list()).toEqual(['code', 'zed']);
  expect(await editors.open(stageId)).toBe('code');
  expect(await told()).toBe(`code ${path}`);
});

it("opens it with the project's own command, options included", async () => {
  const { editors, stageId, path, told } = await setUp(['code'], 'code --new-window');
  expect(await editors.open(stageId)).toBe('code --new-window');
  expect(await told()).toBe(`code --new-window ${path}`);
});

it.each([
  ['none is installed', null, /No editor was found on PATH/],
  ['its command does not exist', 'no-such-editor', /`no-such-editor` did not open .*no such command/],
  ['its command fails', 'exit 3;', /exit code 3/],
])('says why when %s, and what to do', async (_when, editor, text) => {
  const { editors, stageId } = await setUp([], editor);
  await expect(editors.open(stageId)).rejects.toMatchObject({ code: 'no_editor', message: text });
});

it('opens nothing without a worktree', async () => {
  const { editors, addStage } = await setUp(['code']);
  await expect(editors.open(await addStage())).rejects.toMatchObject({ code: 'no_worktree' });
});
