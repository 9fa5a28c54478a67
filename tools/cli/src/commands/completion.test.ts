import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { putProgram } from '../../test/programs.ts';
import { runHere } from '../../test/run-here.ts';

/** Completes a command line in a real bash, with a `callboard` that knows two stages and a request. */
async function complete(...words: string[]): Promise<string[]> {
  const folder = await temporaryFolder();
  await putProgram(folder, 'callboard', 'case "$1" in ls) echo STAGE-1; echo STAGE-2 ;; pending) echo req-1 ;; esac');
  const { out: script } = await runHere(['completion', 'bash']);
  const line = [`${folder}/callboard`, ...words].map((word) => `'${word}'`).join(' ');
  const end = `COMP_WORDS=(${line}); COMP_CWORD=${words.length}; _callboard; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync('bash', ['-c', `${script}\n${end}`], { encoding: 'utf8' });
  expect([stderr, status]).toEqual(['', 0]);
  return stdout.split('\n').filter((word) => word !== '');
}

it('completes commands, options, stages and requests in bash', async () => {
  expect(await complete('st')).toEqual(['start', 'start-stage']);
  expect(await complete('watch', '--')).toEqual(['--json', '--data-dir']);
  expect(await complete('watch', 'STAGE')).toEqual(['STAGE-1', 'STAGE-2']);
  expect(await complete('allow', '')).toEqual(['req-1']);
  expect(await complete('pending', '--stage', '')).toEqual(['STAGE-1', 'STAGE-2']);
  expect(await complete('completion', 'z')).toEqual(['zsh']);
  expect(await complete('ls', '')).toEqual([]);
});

it.each(['zsh', 'fish'])('writes a script for %s with every command and balanced quotes', async (shell) => {
  const { out } = await runHere(['completion', shell]);
  for (const name of ['start-stage', 'pending', 'allow', 'watch', 'logout', 'ls --ids']) expect(out).toContain(name);
  const code = out.replaceAll(/\\'|^#.*$/gm, '');
  expect((code.match(/'/g) ?? []).length % 2).toBe(0);
  if (spawnSync(shell, ['-c', 'true']).status === 0)
    expect(spawnSync(shell, ['-n'], { input: out, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
});

it('refuses an unknown shell, and none', async () => {
  expect(await runHere(['completion', 'tcsh'])).toMatchObject({
    exitCode: 2,
    err: expect.stringContaining('must be one of bash, zsh, fish'),
  });
  expect(await runHere(['completion'])).toMatchObject({ exitCode: 2 });
});
