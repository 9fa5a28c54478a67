import { resolve } from 'node:path';
import type { CheckoutLocation } from './locate-checkout.ts';

/** An entry of git's configuration from any file. Git reads entries in order. */
export interface ConfigEntry {
  key: string;
  value: string;
  /** From the repository's configuration or a file that it includes; other entries are the user's or the machine's. */
  isLocal: boolean;
  file: string;
}

export const LIST_CONFIGURATION = ['config', '--list', '-z', '--show-scope', '--show-origin', '--includes'];

/** Parses the output of `LIST_CONFIGURATION`: `scope\0origin\0key\nvalue\0`; a key without a value means true. */
export function parseConfiguration(printed: string, { root }: CheckoutLocation): ConfigEntry[] {
  const fields = printed.split('\0');
  const entries: ConfigEntry[] = [];
  for (let at = 0; at + 2 < fields.length; at += 3) {
    const [scope = '', origin = '', line = ''] = fields.slice(at, at + 3);
    const end = line.indexOf('\n');
    entries.push({
      key: end < 0 ? line : line.slice(0, end),
      value: end < 0 ? 'true' : line.slice(end + 1),
      isLocal: scope === 'local' || scope === 'worktree',
      file: origin.startsWith('file:') ? resolve(root, origin.slice('file:'.length)) : origin,
    });
  }
  return entries;
}
