import { createHash } from 'node:crypto';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PINNING_VARIABLES } from './run-git.ts';

/** A hooks folder without hooks. */
export const NO_HOOKS = '/dev/null';

/**
 * Creates a folder for `core.hooksPath` with exactly these hooks. Each one runs the original hook as if a person had called
 * git: without the variables that pin our calls to the repository.
 *
 * @param before shell text to run first
 * @returns the folder
 */
export async function makeHooksFolder(
  base: string,
  hooks: readonly { name: string; file: string }[],
  before: string,
): Promise<string> {
  if (hooks.length === 0) return NO_HOOKS;
  const start = `#!/bin/sh\nunset GIT_ADVICE ${PINNING_VARIABLES.join(' ')}\n${before}\n`;
  const scripts = hooks.map(({ name, file }) => ({ name, text: `${start}exec ${quoted(file)} "$@"\n` }));
  const beforeMerge = hooks.find(({ name }) => name === 'pre-merge-commit');
  if (beforeMerge !== undefined) {
    const own = scripts.find(({ name }) => name === REFERENCES);
    const text = mergingHook(start, beforeMerge.file, hooks.find(({ name }) => name === REFERENCES)?.file);
    if (own === undefined) scripts.push({ name: REFERENCES, text });
    else own.text = text;
  }
  const id = createHash('sha256').update(JSON.stringify(scripts)).digest('hex').slice(0, 16);
  const folder = join(base, id);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const { name, text } of scripts) await put(join(folder, name), text);
  return folder;
}

/**
 * The variable with the branch (`refs/heads/...`) that a fast-forward to a merge commit moves. Git runs `pre-merge-commit` only
 * if it makes the commit itself, after it has written the files. With this variable it runs at the same point: the files and the
 * index have the merge, and the branch does not.
 */
export const MERGES_INTO = 'CB_MERGES_INTO';

const REFERENCES = 'reference-transaction';

const quoted = (file: string): string => `'${file.replaceAll("'", "'\\''")}'`;

/** Returns the text of a hook `reference-transaction`: runs `pre-merge-commit` before the branch moves, and the repository's own. */
function mergingHook(start: string, beforeMerge: string, own: string | undefined): string {
  const lines = [
    `if [ -n "$${MERGES_INTO}" ]; then`,
    '  updates=$(cat)',
    `  case "$1 $updates" in "prepared "*" $${MERGES_INTO}"*)`,
    `    ${own === undefined ? 'exec ' : ''}${quoted(beforeMerge)} </dev/null ${own === undefined ? '' : '|| exit 1 '};;`,
    '  esac',
    ...(own === undefined ? [] : [`  printf '%s\\n' "$updates" | ${quoted(own)} "$@"`, '  exit']),
    'fi',
    own === undefined ? 'exit 0' : `exec ${quoted(own)} "$@"`,
  ];
  return `${start}${lines.join('\n')}\n`;
}

/** Replaces the file atomically: another call may be running it. */
async function put(file: string, text: string): Promise<void> {
  const there = await readFile(file, 'utf8').catch(() => null);
  if (there === text) return;
  const draft = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  await writeFile(draft, text, { mode: 0o700 });
  await chmod(draft, 0o700);
  await rename(draft, file);
}
