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

/** Replaces the file atomically: another call may be running it. */
async function put(file: string, text: string): Promise<void> {
  const there = await readFile(file, 'utf8').catch(() => null);
  if (there === text) return;
  const draft = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  await writeFile(draft, text, { mode: 0o700 });
  await chmod(draft, 0o700);
  await rename(draft, file);
}
