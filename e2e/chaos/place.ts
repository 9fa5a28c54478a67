import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabaseOn, type PostgresServer, runSql, startPostgres } from '../../test-support/postgres.ts';
import type { AtEnd } from '../../test-support/temporary-folder.ts';
import { createMachine, type Machine } from './machine.ts';
import { canMakeNamespaces } from './namespaces.ts';
import type { Random } from './random.ts';

export interface PlaceOptions {
  machines: number;
  /** Whether the store is on PostgreSQL; more than one machine needs it. */
  isShared: boolean;
  isEmulated: boolean;
  /** Whether each machine gets a network of its own, where the system allows that. */
  hasOwnNetworks: boolean;
  /** Lines for postgresql.conf. */
  databaseSettings: readonly string[];
  random: Random;
  /** Ends what is opened, the last one first. */
  atEnd: AtEnd;
}

/** Where the chaos takes place: machines that run, and the database that they share. */
export interface Place {
  readonly machines: readonly [Machine, ...Machine[]];
  readonly database: Database | null;
  /** How links are cut. */
  readonly network: 'network namespaces' | 'cut sockets';
}

export interface Database extends Pick<PostgresServer, 'start' | 'stop'> {
  /** Runs SQL that returns one number. */
  count(sql: string): Promise<number>;
}

/** Starts everything, one machine after the other. */
export async function openPlace(options: PlaceOptions): Promise<Place> {
  const { machines: count, isShared, hasOwnNetworks, databaseSettings } = options;
  const hasNamespace = isShared && hasOwnNetworks && canMakeNamespaces();
  const opened = isShared ? await openDatabase(options.atEnd, databaseSettings) : null;
  const all: Machine[] = [];
  for (let n = 1; n <= count; n++) {
    const machine = await createMachine({ ...options, name: `m${n}`, database: opened, hasNamespace });
    await machine.start();
    options.atEnd(machine.stop);
    all.push(machine);
  }
  const [first, ...others] = all;
  if (first === undefined) throw new Error('a place needs a machine');
  return {
    machines: [first, ...others],
    database: opened?.database ?? null,
    network: hasNamespace ? 'network namespaces' : 'cut sockets',
  };
}

async function openDatabase(atEnd: AtEnd, settings: readonly string[]) {
  const server = await startPostgres(atEnd, settings);
  const url = await createDatabaseOn(server.address, atEnd);
  const { port } = server.address;
  const name = new URL(url).pathname.slice(1);
  const count = async (sql: string) => Number(await runSql(server.address, sql, name));
  return { url, port, database: { start: server.start, stop: server.stop, count } };
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
