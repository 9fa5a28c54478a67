import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GitLab } from './repository.ts';

/** Kills, as in a crash, the first git that checks out `file` while it does so, and its parent git if there is one. */
export async function dieOnceAtCheckoutOf(lab: GitLab, repository: string, file: string): Promise<void> {
  const crash = join(lab.folder, 'crash.sh');
  const died = join(lab.folder, 'died');
  const lines = [
    `test -e ${died} && exec cat`,
    `touch ${died}`,
    'above=$(ps -o ppid= -p $PPID | tr -d " ")',
    'case "$(ps -o comm= -p $above)" in git*) ;; *) above= ;; esac',
    'kill -9 $above $PPID', // parent first: a git whose helper died cleans up after it
  ];
  await writeFile(crash, `${lines.join('\n')}\n`);
  await lab.git(repository, 'config', 'filter.crash.smudge', `exec sh ${crash}`);
  await lab.git(repository, 'config', 'filter.crash.clean', 'cat');
  await lab.git(repository, 'config', 'filter.crash.required', 'true');
  await mkdir(join(repository, '.git', 'info'), { recursive: true });
  await writeFile(join(repository, '.git', 'info', 'attributes'), `${file} filter=crash\n`);
}

/** Puts a hook into the repository that fails with a message. */
export async function failingHook(repository: string, name: string): Promise<void> {
  const hook = join(repository, '.git', 'hooks', name);
  await writeFile(hook, '#!/bin/sh\necho "the hook says no" >&2\nexit 1\n');
  await chmod(hook, 0o755);
}

/** Returns a PATH on which `git <command> ...` first runs `instead`; `$real` is the real git. `folder` belongs to the test. */
export async function gitThat(folder: string, path: string, command: string, instead: string): Promise<string> {
  const bin = join(folder, 'bin');
  await mkdir(bin, { recursive: true });
  const lines = [
    '#!/bin/sh',
    `real=$(PATH='${path}' command -v git)`,
    // Options of git itself come before the command.
    'called=; skips=',
    'for word; do',
    '  if [ -n "$skips" ]; then skips=; elif [ "$word" = -c ]; then skips=1; else called="$called$word "; fi',
    'done',
    `case "$called" in "${command} "*) ${instead}`,
    ';; esac',
    'exec "$real" "$@"',
  ];
  await writeFile(join(bin, 'git'), `${lines.join('\n')}\n`);
  await chmod(join(bin, 'git'), 0o755);
  return `${bin}:${path}`;
}
