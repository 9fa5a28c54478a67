import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** The folder for the user's own settings and conversations. @param env the environment that Claude Code gets */
export const configFolder = (env: Readonly<Record<string, string>>): string =>
  env.CLAUDE_CONFIG_DIR || join(env.HOME ?? '/', '.claude');

/** Settings that an administrator makes for everybody on the machine. */
const MANAGED = [
  '/etc/claude-code/managed-settings.json',
  '/Library/Application Support/ClaudeCode/managed-settings.json',
];

const WithHooks = z.object({
  hooks: z.looseObject({ PreToolUse: z.unknown().optional(), PermissionRequest: z.unknown().optional() }).optional(),
  enabledPlugins: z.record(z.string(), z.unknown()).optional(),
});

/**
 * Whether a hook that the user trusts may allow tools: one in the user's or the machine's settings, or in a plugin. A file
 * that cannot be parsed counts as having such a hook, so that the user's own hook is never reported as foreign.
 * @param env the environment that Claude Code gets
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
