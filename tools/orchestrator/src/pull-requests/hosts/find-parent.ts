import { z } from 'zod';
import { parseAnswer } from './parse-answer.ts';
import type { HostRepository } from './run-program.ts';
import { mustProgram } from './run-program.ts';

/** The repository that another one is a fork of. Its pull requests are there. */
export interface Parent {
  /** `owner/name` of the parent. */
  path: string;
  /** Who owns the fork. */
  forkOwner: string;
}

/** Returns the parent of a repository on GitHub; null if it is no fork. @throws Refusal as `CodeHost` */
export type FindParent = (
  address: NonNullable<HostRepository['address']>,
  signal: AbortSignal,
) => Promise<Parent | null>;

/** The fields are in gh 2.23 (Debian 12). */
const Viewed = z.object({
  isFork: z.boolean(),
  parent: z.object({ name: z.string(), owner: z.object({ login: z.string() }) }).nullish(),
});

/** A repository seldom becomes a fork, or stops being one. */
const KNOWN_MS = 10 * 60 * 1_000;

/** Asks `gh` for the parents of repositories, and remembers the answers for a while. */
export function createParentLookup(env: Readonly<Record<string, string>>): FindParent {
  const known = new Map<string, { at: number; parent: Parent | null }>();
  return async (address, signal) => {
    const { host, path } = address;
    const key = `${host}/${path}`;
    const found = known.get(key);
    if (found !== undefined && performance.now() - found.at < KNOWN_MS) return found.parent;
    const args = ['repo', 'view', key, '--json', 'isFork,parent'];
    const told = await mustProgram({ env, address, folder: '/' }, { program: 'gh', args }, signal);
    const { isFork, parent: of } = parseAnswer('gh', Viewed, told);
    const [forkOwner = ''] = path.split('/');
    const parent = isFork && of != null ? { path: `${of.owner.login}/${of.name}`, forkOwner } : null;
    known.set(key, { at: performance.now(), parent });
    return parent;
  };
}
