import { join } from 'node:path';
import { shellQuote } from '@callboard/contract';
import type { Flag } from './flags.ts';
import { type PathBase, path } from './values.ts';

/** The option that most commands share. */
export const dataDirFlag: Flag = {
  kind: 'value',
  name: 'data-dir',
  placeholder: 'PATH',
  repeatable: false,
  variable: 'CALLBOARD_DATA_DIR',
  help: 'Where Callboard keeps all its data; one Callboard per folder (~/.callboard).',
};

/** Returns an absolute path. */
const defaultDataDir = (home: string): string => join(home, '.callboard');

/** The schema of `--data-dir`. */
export const dataDir = (base: PathBase) => path(base).default(defaultDataDir(base.home));

/** Returns the option that a suggested command line needs for a data directory: nothing for the default one. */
export const dataDirSuffix = (folder: string, home: string): string =>
  folder === defaultDataDir(home) ? '' : ` --data-dir ${shellQuote(folder)}`;
