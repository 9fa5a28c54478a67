import { join } from 'node:path';
import type { Environment } from './environment.ts';

/**
 * Returns the folders that may hold the token of `callboard login`, all of which are hidden from Claude. The token is kept in the
 * first one; the others are where a terminal with other variables would keep it.
 */
export function terminalLoginFolders(env: Environment, home: string): string[] {
  const usual = join(home, '.config', 'callboard');
  const { XDG_CONFIG_HOME: config = '' } = env;
  return config.startsWith('/') && join(config, 'callboard') !== usual ? [join(config, 'callboard'), usual] : [usual];
}

/** Returns the file with the token of `callboard login`. */
export const terminalLoginFile = (env: Environment, home: string): string =>
  join(terminalLoginFolders(env, home)[0] ?? '', 'credentials.json');
