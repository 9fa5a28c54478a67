import { createHash } from 'node:crypto';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PINNING_VARIABLES } from './run-git.ts';

/** A folder without hooks. */
export const NO_HOOKS = '/dev/null';

/**
 * Makes a folder for `core.hooksPath` in which these hooks are, and no others. Each runs the real one at its own place,
 * as it would run if a person called git: without the variables by which we pin the repository.
 *
 * @param before shell text that comes first
 * @returns the folder
 */
export async function makeHooksFolder(
  base: string,
  hooks: readonly { name: string; file: string }[],
  before: string,
): Promise<string> {
  if (hooks.length === 0) return NO_HOOKS;
  const scripts = hooks.map(({ name, file }) => ({
    name,
    text: `#!/bin/sh\nunset ${PINNING_VARIABLES.join(' ')}\n${before}\nexec '${file.replaceAll("'", "'\\''")}' "$@"\n`,
  }));
  const id = createHash('sha256').update(JSON.stringify(scripts)).digest('hex').slice(0, 16);
  const folder = join(base, id);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const { name, text } of scripts) await put(join(folder, name), text);
  return folder;
}

/** Whole or not at all: another call may be running it. */
async function put(file: string, text: string): Promise<void> {
  const there = await readFile(file, 'utf8').catch(() => null);
  if (there === text) return;
  const draft = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  await writeFile(draft, text, { mode: 0o700 });
  await chmod(draft, 0o700);
  await rename(draft, file);
}
