import { join } from 'node:path';
import type { Flag } from './flags.ts';
import { shellQuoted } from './shell-quote.ts';
import { type PathBase, path } from './values.ts';

/** The option that all commands share. */
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

/** The schema of `--data-dir`. */
export const dataDir = (base: PathBase) => path(base).default(defaultDataDir(base.home));

/** Returns what a suggested command line needs to name a data directory: nothing for the default one. */
export const dataDirSuffix = (folder: string, home: string): string =>
  folder === defaultDataDir(home) ? '' : ` --data-dir ${shellQuoted(folder)}`;
