import { join } from 'node:path';
import { git } from '../../../../test-support/git.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { createKit, type Kit, type KitOptions } from './kit.ts';

/** Times that are short enough to wait for the end of a lease. */
const LEASE = { leaseMs: 3_000, renewMs: 300, marginMs: 500 };

export interface Cluster {
  /** The remote that all machines know the project by. */
  readonly remote: string;
  /** Adds a machine with a repository of its own, a clone of the remote. */
  join(name: string, options?: KitOptions): Promise<Kit>;
}

/** Machines that share one store, each with a data directory, a repository and a scripted model of its own; on the emulator. */
export async function createCluster(databaseUrl: string): Promise<Cluster> {
  const remote = join(await temporaryFolder(), 'shop.git');
  await git('/', 'init', '--quiet', '--bare', '--initial-branch=main', remote);
  const address = 'ssh://git@example.org/acme/shop.git';
  let isFirst = true;
  return {
    remote,
    join: (name, options = {}) =>
      createKit({
        isEmulated: true,
        ...options,
        machine: { databaseUrl: options.machine?.databaseUrl ?? databaseUrl, name },
        limits: { lease: LEASE, ...options.limits },
        async before(repo) {
          await git(repo, 'remote', 'add', 'origin', address);
          // The address that everybody knows, with the folder that stands in for it.
          await git(repo, 'config', `url.${remote}.insteadOf`, address);
          if (isFirst) await git(repo, 'push', '--quiet', remote, 'main');
          else {
            await git(repo, 'fetch', '--quiet', 'origin');
            await git(repo, 'reset', '--quiet', '--hard', 'origin/main');
          }
          isFirst = false;
          await options.before?.(repo);
        },
      }),
  };
}
