import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { configFolder } from '../claude/user-settings.ts';
import { ALLOWED, type Found, settingsItems } from './settings-items.ts';

/** How the user's own settings file is called in what people read. */
const USER_FILE = '~/.claude/settings.json';

/** The file itself. @param env the environment that Claude Code is given */
export const userSettingsPath = (env: Readonly<Record<string, string>>): string =>
  join(configFolder(env), 'settings.json');

/** Its text, or that of an empty one. */
export const userSettings = (env: Readonly<Record<string, string>>): Promise<string> =>
  readFile(userSettingsPath(env), 'utf8').catch(() => '{}');

/** Everything that the user's own settings switch on. Nothing, if they are missing or cannot be understood. */
export async function userItems(env: Readonly<Record<string, string>>): Promise<Found[]> {
  return settingsItems({ kind: 'settings', name: USER_FILE, text: await userSettings(env) });
}

/** What of it is allowed without asking. */
export const userRules = async (env: Readonly<Record<string, string>>): Promise<Found[]> =>
  (await userItems(env)).filter(({ kind, text }) => kind === 'directory' || (kind === 'rule' && text === ALLOWED));
