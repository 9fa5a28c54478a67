import { isObject, parseSettings } from './settings-items.ts';

/** The commands that a settings file lets run outside of the sandbox: nothing else in it opens what Callboard closes (tried). */
export function excludedCommands(text: string): string[] {
  const settings = parseSettings(text);
  const sandbox = isObject(settings?.sandbox) ? settings.sandbox : {};
  const { excludedCommands: commands } = sandbox;
  return Array.isArray(commands) ? commands.filter((command) => typeof command === 'string') : [];
}
