import { spawnSync } from 'node:child_process';
import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isInstalled } from '../../../../scripts/debian.ts';
import { inTerminal } from '../../../../test-support/in-terminal.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { until } from '../../../../test-support/until.ts';
import { putProgram, SYSTEM_PATH } from '../../test/programs.ts';
import { runHere } from '../../test/run-here.ts';

/** Returns a folder with a `callboard` that knows two stages and a request, and the script for this shell in `completion`. */
async function locationOf(shell: string, request = 'req-1'): Promise<string> {
  const folder = await temporaryFolder();
  const says = `case "$1" in ls) echo STAGE-1; echo STAGE-2 ;; pending) echo '${request}' ;; esac`;
  await putProgram(folder, 'callboard', says);
  const { out: script } = await runHere(['completion', shell]);
  for (const name of ['start-stage', 'pending', 'allow', 'watch', 'logout', 'ls --ids']) expect(script).toContain(name);
  await writeFile(join(folder, 'completion'), script);
  return folder;
}

/** Completes a command line in a real bash. */
const complete = async (...texts: string[]) => completeIn(await locationOf('bash'), ...texts);

function completeIn(folder: string, ...texts: string[]): string[] {
  const script = `source ${folder}/completion`;
  const line = [`${folder}/callboard`, ...texts].map((word) => `'${word}'`).join(' ');
  const end = `COMP_WORDS=(${line}); COMP_CWORD=${texts.length}; _callboard; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync('bash', ['-c', `${script}\n${end}`], {
    encoding: 'utf8',
    env: { ...process.env, HOME: folder },
  });
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
  expect(await complete('help', 'rest')).toEqual(['restore']);
  expect(await complete('ls', '')).toEqual([]);
});

it('runs nothing that an id contains in bash', async () => {
  const folder = await locationOf('bash', '$(>$HOME/ran)');
  expect(completeIn(folder, 'allow', '')).toEqual(['\\$\\(\\>\\$HOME/ran\\)']);
  await expect(access(join(folder, 'ran'))).rejects.toThrow('ENOENT');
});

const SHELL_MS = { withinMs: 15_000 };

it.skipIf(!isInstalled('zsh'))('completes the same in zsh, with what each word means (needs zsh)', async () => {
  const folder = await locationOf('zsh');
  const env = { ...process.env, PATH: `${folder}:${SYSTEM_PATH}`, HOME: folder, TERM: 'xterm', ZDOTDIR: folder };
  await writeFile(
    join(folder, '.zshrc'),
    'autoload -Uz compinit; compinit -u -D; source ~/completion; unsetopt zle_bracketed_paste; PROMPT="ready> "',
  );
  const shell = inTerminal('zsh -i', env);
  const sees = (text: string, seenBefore: number) =>
    until(`zsh shows ${text}`, () => shell.said().slice(seenBefore).includes(text), {
      ...SHELL_MS,
      lastSeen: shell.said,
    });
  await sees('ready> ', 0);
  const shows = async (line: string, ...texts: string[]) => {
    const before = shell.said().length;
    shell.press(`${line}\t\t`);
    for (const text of texts) await sees(text, before);
    const after = shell.said().length;
    shell.press('\x15\r'); // a line that is empty again
    await sees('ready> ', after);
  };
  await shows('callboard st', 'start ', '-- Starts Callboard', 'start-stage', '-- Starts a stage, or creates one');
  await shows('callboard watch --', '--json', '--data-dir');
  await shows('callboard watch STAGE', 'STAGE-1', 'STAGE-2');
  await shows('callboard allow ', 'req-1');
  await shows('callboard pending --stage ', 'STAGE-1', 'STAGE-2');
  await shows('callboard completion z', 'completion zsh');
  shell.press('exit\r');
  expect(await shell.ended).toBe(0);
});

it.skipIf(!isInstalled('fish'))('completes the same in fish, with what each word means (needs fish)', async () => {
  const folder = await locationOf('fish');
  const env = { ...process.env, PATH: `${folder}:${SYSTEM_PATH}`, HOME: folder };
  const completed = (line: string) => {
    const code = `source ${folder}/completion; complete -C '${line}'`;
    const { stdout, stderr, status } = spawnSync('fish', ['--private', '-c', code], { encoding: 'utf8', env });
    expect([stderr, status]).toEqual(['', 0]);
    return stdout.trim().split('\n').toSorted();
  };
  expect(completed('callboard st')).toEqual([
    'start\tStarts Callboard and prints a link to log in with (the default).',
    'start-stage\tStarts a stage, or creates one from a prompt and starts it.',
  ]);
  expect(completed('callboard watch --').map((line) => line.split('\t', 1)[0])).toEqual(['--data-dir', '--json']);
  expect(completed('callboard watch STAGE')).toEqual(['STAGE-1', 'STAGE-2']);
  expect(completed('callboard allow ')).toContain('req-1');
  expect(completed('callboard pending --stage ').map((line) => line.split('\t', 1)[0])).toEqual(['STAGE-1', 'STAGE-2']);
  expect(completed('callboard completion z')).toEqual(['zsh']);
  expect(completed('callboard ls ')).toEqual(['']);
});

it('refuses an unknown shell, and none', async () => {
  expect(await runHere(['completion', 'tcsh'])).toMatchObject({
    exitCode: 2,
    err: expect.stringContaining('must be one of bash, zsh, fish'),
  });
  expect(await runHere(['completion'])).toMatchObject({ exitCode: 2 });
});
