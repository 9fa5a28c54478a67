import { constants } from 'node:fs';
import { access, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Logger } from '../lib/logger.ts';

/**
 * A `bwrap` that passes its arguments on, but for what goes wrong with those of Claude Code (2.1.330, all tried). What stands behind
 * `--` is the command, and is left alone.
 *
 * - A path that is bound to itself may be gone since Claude Code looked: sessions of one repository share its `.git`, and then
 *   commands fail at random. Such a path is passed over.
 * - Nothing is put in the place of `config.lock`. Outside it would be an empty file, with which nobody can write to the
 *   configuration while the command runs. The configuration itself stays closed: it cannot be replaced where it is bound.
 * - Nothing is put in the place of a branch. Git may have packed it since the session began, and an empty file would hide that.
 * - As root a command could set the program that the kernel runs, outside, when a process crashes, by way of the new `/proc`.
 */
const scriptFor = (bwrap: string, isRoot: boolean) => `#!/bin/sh
left=$#
while [ "$left" -gt 0 ]; do
  case "$1" in
    --) break ;;
    --setenv | --ro-bind) taken=3 ;;
    --proc) taken=2 ;;
    *) taken=1 ;;
  esac
  case "$1 $2 $3" in
    '--ro-bind '*' '*.git/config.lock | '--ro-bind '*' '*.git/*/config.lock | '--ro-bind /dev/null '*.git/refs/*) ;;
    '--ro-bind / /') set -- "$@" "$1" "$2" "$3" ;;
    "--ro-bind $2 $2") set -- "$@" --ro-bind-try "$2" "$3" ;;
${isRoot ? `    '--proc /proc '*) set -- "$@" --proc /proc --ro-bind /proc/sys /proc/sys ;;\n` : ''}    *)
      case "$taken" in
        3) set -- "$@" "$1" "$2" "$3" ;;
        2) set -- "$@" "$1" "$2" ;;
        *) set -- "$@" "$1" ;;
      esac
      ;;
  esac
  shift "$taken"
  left=$((left - taken))
done
while [ "$left" -gt 0 ]; do
  set -- "$@" "$1"
  shift
  left=$((left - 1))
done
exec '${bwrap.replaceAll("'", "'\\''")}' "$@"
`;

/**
 * A search path that begins with a folder in which there is such a `bwrap`. Where there is no bubblewrap: the path as it is.
 * @param folder is made; nothing else belongs into it
 * @throws the error of the system where it cannot be written
 */
export async function searchPathForSandbox(path: string, folder: string, isRoot: boolean): Promise<string> {
  const own = path.split(delimiter).filter((entry) => isAbsolute(entry) && entry !== folder);
  const bwrap = await firstExecutable(own.map((entry) => join(entry, 'bwrap')));
  if (bwrap === null) return path;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await put(join(folder, 'bwrap'), scriptFor(bwrap, isRoot));
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
    log.warn({ err: error }, 'the sandbox of Claude Code is used as it is');
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
