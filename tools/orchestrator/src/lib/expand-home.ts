import { join } from 'node:path';
import { Rejection } from './errors.ts';

/**
 * Returns a path as a person typed it, with `~` for the home folder.
 * @throws Rejection `bad_request` for the home of another account
 */
export function expandHome(path: string, home: string): string {
  if (path === '~' || path.startsWith('~/')) return join(home, path.slice(1));
  if (/^~[a-z_][\w-]*\//i.test(path))
    throw new Rejection('bad_request', `${path} names the home folder of another account. Write the path in full.`);
  return path;
}
