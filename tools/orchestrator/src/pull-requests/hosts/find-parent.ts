import type { CodeHostKind } from '@callboard/contract';
import { z } from 'zod';
import type { GitLabFork } from './gitlab.ts';
import { parseAnswer } from './parse-answer.ts';
import type { HostRepository } from './run-program.ts';
import { mustProgram } from './run-program.ts';

type Address = NonNullable<HostRepository['address']>;

/** The repository that another one is a fork of. Its pull requests are there. */
export type Parent = {
  /** `owner/name` of the parent. */
  path: string;
} & ({ kind: 'github'; forkOwner: string } | { kind: 'gitlab'; fork: GitLabFork });

/** Returns the repository that the pull requests of another one go into; null if that is itself. @throws Refusal as `CodeHost` */
export type FindParent = (kind: CodeHostKind, address: Address, signal: AbortSignal) => Promise<Parent | null>;

/** The fields are in gh 2.23 (Debian 12). */
const OnGitHub = z.object({
  isFork: z.boolean(),
  parent: z.object({ name: z.string(), owner: z.object({ login: z.string() }) }).nullish(),
});

const OnGitLab = z.object({
  id: z.int(),
  forked_from_project: z.object({ id: z.int(), path_with_namespace: z.string() }).nullish(),
  /** A setting of the fork: its merge requests go into itself. */
  mr_default_target_self: z.boolean().nullish(),
});

/** A repository seldom becomes a fork, or stops being one. */
const KNOWN_MS = 10 * 60 * 1_000;

/** Asks `gh` or `glab` for the parents of repositories, and remembers the answers for a while. */
export function createParentLookup(env: Readonly<Record<string, string>>): FindParent {
  const known = new Map<string, { at: number; parent: Parent | null }>();
  return async (kind, address, signal) => {
    const key = `${kind} ${address.host}/${address.path}`;
    const found = known.get(key);
    if (found !== undefined && performance.now() - found.at < KNOWN_MS) return found.parent;
    const ask = (program: string, args: string[]) =>
      mustProgram({ env, address, folder: '/' }, { program, args }, signal);
    const parent = await (kind === 'github' ? onGitHub(address, ask) : onGitLab(address, ask));
    known.set(key, { at: performance.now(), parent });
    return parent;
  };
}

type Ask = (program: string, args: string[]) => Promise<string>;

async function onGitHub({ host, path }: Address, ask: Ask): Promise<Parent | null> {
  const reported = await ask('gh', ['repo', 'view', `${host}/${path}`, '--json', 'isFork,parent']);
  const { isFork, parent } = parseAnswer('gh', OnGitHub, reported);
  if (!isFork || parent == null) return null;
  const [forkOwner = ''] = path.split('/');
  return { kind: 'github', path: `${parent.owner.login}/${parent.name}`, forkOwner };
}

async function onGitLab({ host, path }: Address, ask: Ask): Promise<Parent | null> {
  const reported = await ask('glab', ['api', '--hostname', host, `projects/${encodeURIComponent(path)}`]);
  const { id, forked_from_project: from, mr_default_target_self: isOwn } = parseAnswer('glab', OnGitLab, reported);
  if (from == null || isOwn === true) return null;
  return { kind: 'gitlab', path: from.path_with_namespace, fork: { path, id, parentId: from.id } };
}
