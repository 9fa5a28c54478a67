import { constants } from 'node:fs';
import { access, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Logger } from '../lib/logger.ts';

/**
 * A `bwrap` that passes its arguments on and, where they mount a new `/proc`, mounts the settings of the kernel read-only over
 * it: as root a command could else set the program that the kernel runs, outside, when a process crashes (tried with Claude
 * Code's sandbox, which has no setting for it). What stands behind `--` is the command, and is left alone.
 */
const scriptFor = (bwrap: string) => `#!/bin/sh
left=$#
while [ "$left" -gt 0 ]; do
  case "$1 $2" in
    '-- '*) break ;;
    '--proc /proc')
      set -- "$@" --proc /proc --ro-bind /proc/sys /proc/sys
      shift 2
      left=$((left - 2))
      ;;
    *)
      set -- "$@" "$1"
      shift
      left=$((left - 1))
      ;;
  esac
done
while [ "$left" -gt 0 ]; do
  set -- "$@" "$1"
  shift
  left=$((left - 1))
done
exec '${bwrap.replaceAll("'", "'\\''")}' "$@"
`;

/**
 * Where Callboard runs as root: a search path that begins with a folder in which there is a `bwrap` that root cannot leave by
 * way of the kernel's settings. Else, and where there is no bubblewrap, the path as it is.
 * @param folder is made; nothing else belongs into it
 * @throws the error of the system where it cannot be written
 */
export async function searchPathForSandbox(path: string, folder: string, isRoot: boolean): Promise<string> {
  const own = path.split(delimiter).filter((entry) => isAbsolute(entry) && entry !== folder);
  const bwrap = isRoot ? await firstExecutable(own.map((entry) => join(entry, 'bwrap'))) : null;
  if (bwrap === null) return path;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await put(join(folder, 'bwrap'), scriptFor(bwrap));
  return [folder, path].join(delimiter);
}

/**
 * The environment for `claude` and for trials of its sandbox, with such a search path. Never rejects: where the file cannot be written,
 * a trial of the sandbox finds it open.
 */
export async function environmentForSandbox(
  env: Readonly<Record<string, string>>,
  folder: string,
  log: Logger,
): Promise<Record<string, string>> {
  const { PATH } = env;
  if (PATH === undefined) return { ...env };
  const path = searchPathForSandbox(PATH, folder, process.geteuid?.() === 0).catch((error: unknown) => {
    log.warn({ err: error }, 'root cannot be kept in the sandbox');
    return PATH;
  });
  return { ...env, PATH: await path };
}

async function firstExecutable(files: readonly string[]): Promise<string | null> {
  for (const file of files) {
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return file;
  }
  return null;
}

/** Whole or not at all: a session that goes on may be starting it. */
async function put(file: string, text: string): Promise<void> {
  if ((await readFile(file, 'utf8').catch(() => null)) === text) return;
  await writeFile(`${file}.new`, text, { mode: 0o700 });
  await rename(`${file}.new`, file);
}
