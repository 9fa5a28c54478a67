import { constants } from 'node:fs';
import { access, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Logger } from '../lib/logger.ts';

/**
 * A `bwrap` that passes on its arguments, except those of Claude Code that cause problems (2.1.330, all tried). Everything
 * behind `--` is the command, and is not changed.
 *
 * - A path that is bound to itself may be gone by now: sessions of one repository share its `.git`, and commands would fail at
 *   random. Such a path is skipped.
 * - `config.lock` is not masked. Outside, the mask would be an empty file that keeps everybody from writing the configuration
 *   while the command runs. The configuration itself stays protected: a bound file cannot be replaced.
 * - A branch is not masked. Git may have packed it since the session began, and an empty file would hide that.
 * - For root, kernel settings in the new `/proc` become read-only. Otherwise a command could set the program that the kernel
 *   runs, outside, when a process crashes.
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
 * Returns a search path that begins with a folder with such a `bwrap`; without bubblewrap, the path unchanged.
 * @param folder created if missing; holds nothing else
 * @throws a system error when it cannot be written
 */
export async function searchPathForSandbox(path: string, folder: string, isRoot: boolean): Promise<string> {
  const own = path.split(delimiter).filter((entry) => isAbsolute(entry) && entry !== folder);
  const bwrap = await firstExecutable(own.map((entry) => join(entry, 'bwrap')));
  if (bwrap === null) return path;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeIfChanged(join(folder, 'bwrap'), scriptFor(bwrap, isRoot));
  return [folder, path].join(delimiter);
}

/**
 * Returns the environment for `claude` and for checks of its sandbox, with such a search path. Never rejects: if the file
 * cannot be written, a check of the sandbox reports that it is open.
 */
export async function environmentForSandbox(
  env: Readonly<Record<string, string>>,
  folder: string,
  log: Logger,
): Promise<Record<string, string>> {
  const { PATH } = env;
  if (PATH === undefined) return { ...env };
  const path = searchPathForSandbox(PATH, folder, process.geteuid?.() === 0).catch((error: unknown) => {
    log.warn({ err: error }, 'the bwrap wrapper could not be written; Claude Code uses bwrap directly');
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

/** Replaces the file atomically: a running session may be starting it. */
async function writeIfChanged(file: string, text: string): Promise<void> {
  if ((await readFile(file, 'utf8').catch(() => null)) === text) return;
  await writeFile(`${file}.new`, text, { mode: 0o700 });
  await rename(`${file}.new`, file);
}
