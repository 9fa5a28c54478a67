import { join } from 'node:path';
import type { Flag } from './flags.ts';
import { quoted } from './quote.ts';
import { type PathBase, path } from './values.ts';

/** Where Callboard keeps everything: shared by all commands. */
export const dataDirFlag: Flag = {
  kind: 'value',
  name: 'data-dir',
  placeholder: 'PATH',
  repeatable: false,
  variable: 'CALLBOARD_DATA_DIR',
  help: 'Where Callboard keeps everything (~/.callboard).',
};

/** Absolute. */
const defaultDataDir = (home: string): string => join(home, '.callboard');

/** The value of `--data-dir`. */
export const dataDir = (base: PathBase) => path(base).default(defaultDataDir(base.home));

/** What names a data directory on a command line: nothing for the usual one. */
export const dataDirSuffix = (folder: string, home: string): string =>
  folder === defaultDataDir(home) ? '' : ` --data-dir ${quoted(folder)}`;
