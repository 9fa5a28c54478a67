import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { configFolder } from '../claude/user-settings.ts';
import { ALLOWED, type Found, settingsItems } from './settings-items.ts';

/** The name of the user's own settings file for people. */
const USER_FILE = '~/.claude/settings.json';

/** Returns the path of the user's settings file. @param env the environment that Claude Code gets */
export const userSettingsPath = (env: Readonly<Record<string, string>>): string =>
  join(configFolder(env), 'settings.json');

/** Returns the text of the user's settings file; `{}` if there is none. */
export const userSettings = (env: Readonly<Record<string, string>>): Promise<string> =>
  readFile(userSettingsPath(env), 'utf8').catch(() => '{}');

/** Lists everything that the user's own settings switch on. */
export async function userItems(env: Readonly<Record<string, string>>): Promise<Found[]> {
  return settingsItems({ kind: 'settings', name: USER_FILE, text: await userSettings(env) });
}

/** Lists what the user's own settings allow without asking. */
export const userRules = async (env: Readonly<Record<string, string>>): Promise<Found[]> =>
  (await userItems(env)).filter(({ kind, text }) => kind === 'directory' || (kind === 'rule' && text === ALLOWED));
