import type { CodeHostKind, Project } from '@callboard/contract';
import { run } from '../lib/processes/processes.ts';
import type { CodeHost } from './hosts/code-host.ts';
import type { FindParent } from './hosts/find-parent.ts';
import { createGitHub } from './hosts/github.ts';
import { createGitLab } from './hosts/gitlab.ts';
import type { ProgramDeps } from './hosts/run-program.ts';
import { Refusal } from './refusal.ts';
import { kindOf, parseRemote, type RemoteAddress } from './remote-address.ts';

export interface FindHostDeps {
  /** The user's environment. */
  env: Readonly<Record<string, string>>;
  /** Whether the repository has settings of git that nobody agreed to. */
  hasPendingSettings: (project: Project) => Promise<boolean>;
  /** Without it, forks are taken for themselves: what is wanted is in the remote itself. */
  findParent?: FindParent;
  /** The page of the stage's open pull request, which stays where it is; null if there is none. */
  openedAt?: string | null;
}

/** Where a repository's pull requests are; `host` is null if no program can be used, and `refusal` says why. */
export interface FoundHost {
  address: RemoteAddress | null;
  kind: CodeHostKind | null;
  host: CodeHost | null;
  refusal: Refusal | null;
  /** The repository that the pull request goes into if the remote is a fork of it. */
  parent: RemoteAddress | null;
}

/** With an address, the programs need no folder of a repository, so they find nothing there to run. */
const NOWHERE = '/';
const CHECK_INTERVAL_MS = 15_000;
const CREATE = { github: createGitHub, gitlab: createGitLab } as const;

/** Finds the code host of a remote by its addresses, and the program for it among those that are installed. */
export async function findCodeHost(
  deps: FindHostDeps,
  project: Project,
  urls: readonly string[],
  signal: AbortSignal,
): Promise<FoundHost> {
  const address = await addressOf(deps, urls, signal);
  if (address === null) return inFolder(deps, project, urls, signal);
  const named = kindOf(address.host);
  const found = named === null ? await asked(deps, address, signal) : create(deps, named, address);
  if (found === null) {
    const message = `${address.host} is not a code host that gh or glab is logged in to on this machine. Log in there, or open the pull request by hand.`;
    const command = `gh auth login --hostname ${address.host}`;
    return {
      address,
      kind: null,
      host: null,
      parent: null,
      refusal: new Refusal('no_code_host', message, { command }),
    };
  }
  const here = { address, kind: found.kind, host: found, parent: null };
  const refusal = await refusalBy(found, signal);
  if (refusal !== null || isIn(address, deps.openedAt ?? null)) return { ...here, refusal };
  return inParent(deps, here, address, signal);
}

const isIn = ({ host, path }: RemoteAddress, url: string | null): boolean =>
  url?.toLowerCase().startsWith(`https://${host}/${path}/`.toLowerCase()) === true;

/** The pull requests of a fork are in its parent. */
async function inParent(
  { env, findParent }: FindHostDeps,
  found: Omit<FoundHost, 'refusal' | 'kind'> & { kind: CodeHostKind },
  address: RemoteAddress,
  signal: AbortSignal,
): Promise<FoundHost> {
  const here = { ...found, refusal: null };
  try {
    const parent = (await findParent?.(found.kind, address, signal)) ?? null;
    if (parent === null) return here;
    const base = { ...address, path: parent.path };
    const place = { env, address: base, folder: NOWHERE };
    const host =
      parent.kind === 'github'
        ? createGitHub({ ...place, forkOwner: parent.forkOwner })
        : createGitLab({ ...place, fork: parent.fork });
    return { ...here, host, parent: base };
  } catch (error) {
    if (error instanceof Refusal) return { ...here, refusal: error }; // it may be a fork: then it would go to the wrong place
    throw error;
  }
}

const create = ({ env }: FindHostDeps, kind: CodeHostKind, address: ProgramDeps['address']): CodeHost =>
  CREATE[kind]({ env, address, folder: NOWHERE });

async function refusalBy(host: CodeHost, signal: AbortSignal): Promise<Refusal | null> {
  try {
    await host.requireLogin(signal);
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

/** The first address on a code host. Another name for a host, from the configuration of ssh, is followed. */
async function addressOf(
  { env }: FindHostDeps,
  urls: readonly string[],
  signal: AbortSignal,
): Promise<RemoteAddress | null> {
  const addresses = urls.map(parseRemote).filter((address) => address !== null);
  const known = addresses.find(({ host }) => kindOf(host) !== null);
  if (known !== undefined) return known;
  const [first] = addresses;
  if (first === undefined) return null;
  if (!first.isSsh) return first;
  const job = { command: 'ssh', args: ['-G', '--', first.host], env, timeoutMs: CHECK_INTERVAL_MS };
  const { failed, stdout } = await run(job, signal);
  const name = failed ? undefined : /^hostname (\S+)$/m.exec(stdout)?.[1];
  return name === undefined ? first : { ...first, host: name.toLowerCase() };
}

/** A host of a company: whichever program is logged in to it. */
async function asked(deps: FindHostDeps, address: RemoteAddress, signal: AbortSignal): Promise<CodeHost | null> {
  for (const kind of ['github', 'gitlab'] as const) {
    const host = create(deps, kind, address);
    if ((await refusalBy(host, signal)) === null) return host;
  }
  return null;
}

/** A remote without a host, such as a folder: a program that is installed may know what it stands for. */
async function inFolder(
  deps: FindHostDeps,
  project: Project,
  urls: readonly string[],
  signal: AbortSignal,
): Promise<FoundHost> {
  const none = { address: null, kind: null, host: null, parent: null };
  const what = urls[0] ?? 'The remote';
  if (await deps.hasPendingSettings(project)) {
    const message = `${what} names no code host, and the repository has settings of git that nobody agreed to. Agree to them on the project’s page first.`;
    return { ...none, refusal: new Refusal('no_code_host', message) };
  }
  for (const kind of ['github', 'gitlab'] as const) {
    const host = CREATE[kind]({ env: deps.env, address: null, folder: project.path });
    const refusal = await refusalBy(host, signal);
    if (refusal?.code === 'no_code_host') continue;
    return { ...none, kind, host, refusal };
  }
  const message = `${what} names no code host, and neither gh nor glab is installed on this machine.`;
  return { ...none, refusal: new Refusal('no_code_host', message) };
}
