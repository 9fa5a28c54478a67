import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The oldest supported Node. */
const VERSION = '24.9.0';
const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'callboard', `node-${VERSION}`);
const path = join(folder, 'node_modules', 'node', 'bin', 'node');

/** Returns the path of its binary; null before it is installed. */
export const findOlderNode = (): string | null => (existsSync(path) ? path : null);

/** Installs it into a cache outside the repository if it is missing. @returns whether it is installed now */
export function ensureOlderNode(): boolean {
  if (findOlderNode() === null)
    try {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'package.json'), '{ "private": true, "allowScripts": { "node": true } }');
      const args = ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', folder, `node@${VERSION}`];
      execFileSync('npm', args, { stdio: 'inherit', cwd: '/' });
    } catch {
      return false;
    }
  return findOlderNode() !== null;
}
