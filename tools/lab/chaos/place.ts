import { setTimeout as sleep } from 'node:timers/promises';
import type { PostgresServer } from '../../../test-support/postgres.ts';
import type { AtEnd } from '../../../test-support/temporary-folder.ts';
import { createMachine, type Machine } from './machine.ts';
import { canMakeNamespaces } from './namespaces.ts';
import type { Random } from './random.ts';
import { openServers } from './servers.ts';

export interface LocationOptions {
  machines: number;
  /** Whether the store is on PostgreSQL; more than one machine needs it. */
  isShared: boolean;
  isEmulated: boolean;
  /** Whether each machine gets a network of its own, where the system allows that. */
  hasOwnNetworks: boolean;
  /** Lines for postgresql.conf. */
  databaseSettings: readonly string[];
  /** Whether the database has a synchronous standby. */
  hasStandby: boolean;
  random: Random;
  /** Ends what is opened, the last one first. */
  atEnd: AtEnd;
}

/** Where the chaos takes place: machines that run, and the database that they share. */
export interface Instance {
  readonly machines: readonly [Machine, ...Machine[]];
  readonly database: Database | null;
  /** How links are cut. */
  readonly network: 'network namespaces' | 'cut sockets';
}

export interface Database extends Pick<PostgresServer, 'start' | 'stop'> {
  /** Runs SQL that returns one number. */
  count(sql: string): Promise<number>;
  /** Runs SQL. Resolves with its rows, as `psql` prints them. */
  lines(sql: string): Promise<string[]>;
  /** Ends all processes of the server that takes writes, which has a standby. */
  switchOff(): Promise<void>;
  /**
   * Promotes the standby of a server that was switched off; that one becomes the new standby, sometimes after it was back as it was.
   * Null without a standby.
   * @throws an Error if Callboard has used it again then
   */
  readonly failOver: ((signal: AbortSignal) => Promise<void>) | null;
}

/** Starts everything, one machine after the other. */
export async function openInstance(options: LocationOptions): Promise<Instance> {
  const { machines: count, isShared, hasOwnNetworks, databaseSettings: settings } = options;
  const hasNamespace = isShared && hasOwnNetworks && canMakeNamespaces();
  const opened = isShared ? await openServers({ ...options, settings, machines: count }) : null;
  const all: Machine[] = [];
  for (let n = 1; n <= count; n++) {
    all.push(await createMachine({ ...options, name: `m${n}`, database: opened, hasNamespace }));
  }
  for (const machine of all) {
    for (const other of all) if (other !== machine) await machine.meet(other);
    await machine.start();
    options.atEnd(machine.stop);
  }
  const [first, ...others] = all;
  if (first === undefined) throw new Error('a place needs a machine');
  return {
    machines: [first, ...others],
    database: opened?.database ?? null,
    network: hasNamespace ? 'network namespaces' : 'cut sockets',
  };
}

/** Starts a machine's Callboard again; as long as its database is out of reach, again and again. */
export async function startAgain(machine: Machine, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      return await machine.start();
    } catch (error) {
      if (machine.link === null) throw error;
      await sleep(500, undefined, { signal }).catch(() => {
        throw new Error(`${machine.name} did not start again`, { cause: error });
      });
    }
  }
}
