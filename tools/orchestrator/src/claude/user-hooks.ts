import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { configFolder } from './config-folder.ts';

/** Where an administrator puts settings that hold for everybody on the machine. */
const MANAGED = [
  '/etc/claude-code/managed-settings.json',
  '/Library/Application Support/ClaudeCode/managed-settings.json',
];

const WithHooks = z.object({
  hooks: z.looseObject({ PreToolUse: z.unknown().optional(), PermissionRequest: z.unknown().optional() }).optional(),
  enabledPlugins: z.record(z.string(), z.unknown()).optional(),
});

/**
 * Whether hooks of the user's own may allow tools: those of the user's and the machine's settings, or of a plugin. A
 * file that cannot be understood counts as one that has some, so that nothing is called foreign that may be the user's.
 * @param env the environment that Claude Code is given
 */
export async function mayUserHooksAllow(env: Readonly<Record<string, string>>): Promise<boolean> {
  const folder = configFolder(env);
  const answers = await Promise.all([join(folder, 'settings.json'), ...MANAGED].map(mayAllow));
  return answers.includes(true);
}

async function mayAllow(file: string): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return false;
  try {
    const { hooks, enabledPlugins } = WithHooks.parse(JSON.parse(text));
    const plugins = Object.values(enabledPlugins ?? {}).some((isOn) => isOn !== false);
    return plugins || hooks?.PreToolUse !== undefined || hooks?.PermissionRequest !== undefined;
  } catch {
    return true;
  }
}
