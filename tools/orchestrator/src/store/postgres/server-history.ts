import { readFile, rename, writeFile } from 'node:fs/promises';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { z } from 'zod';
import type { Logger } from '../../lib/logger.ts';
import { DatabaseUnreachable, isNotAvailable } from '../storage-failure.ts';

/** A database of a system, which all its copies share, and the timeline that the server of one of them is at. */
const Location = z.object({ system: z.string(), database: z.string(), timeline: z.int() });
const Used = Location.extend({ server: z.string() });
type Used = z.infer<typeof Used>;
const Noted = z.object({ newest: z.array(Used) });

/**
 * A standby that takes over begins a new timeline of the same system, while a server from before that stays on the old one. A dump
 * that was restored is another database, even on the same server.
 */
const SELECT = `select system_identifier::text as system,
  (select oid::text from pg_database where datname = current_database()) as database,
  ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int as timeline from pg_control_system()`;

interface Asked {
  query(query: { text: string }): Promise<{ rows: unknown[] }>;
}

/** Where a machine keeps the newest timeline that it has used of each database. */
export interface HistoryFile {
  path: string;
  /** Of the one thread that writes the file; null: it is only read. */
  writer: Logger | null;
}

export interface ServerHistory {
  /**
   * Notes where a server that takes writes is in the history of its system. One that does not tell this account counts as current.
   * @param server its host and port, in words
   * @throws DatabaseUnreachable if a later server was used: this one lacks what was stored since a fail-over; or if the file cannot be read
   */
  require(link: Asked, server: string): Promise<void>;
}

/** Remembers the newest server of each database: in the file, or without one for as long as this process lives. */
export function createServerHistory(file: HistoryFile | null = null): ServerHistory {
  const used = new Map<string, Used>();
  /** What the file says, as far as this process knows. */
  let noted: ReadonlyMap<string, Used> | null = file === null ? new Map() : null;
  let last: Promise<unknown> = Promise.resolve();

  async function compare(found: Used): Promise<void> {
    const key = keyOf(found);
    noted ??= await readNoted(file);
    const newest = newer(used.get(key), noted.get(key));
    if (newest !== undefined && found.timeline < newest.timeline) {
      const before = noted.get(key);
      if (file !== null) noted = await readNoted(file);
      const isForgotten = timelineOf(noted.get(key)) < timelineOf(before); // only a person's hand makes that
      if (!isForgotten || found.timeline < timelineOf(noted.get(key))) throw olderCopy(found, newest, file);
    }
    used.set(key, found);
    if (file?.writer && timelineOf(noted.get(key)) !== found.timeline) noted = await note(noted, found, file);
  }

  return {
    async require(link, server) {
      const { rows } = await link.query({ text: SELECT }).catch((error: unknown) => {
        if (isNotAvailable(error)) return { rows: [] };
        throw error;
      });
      if (rows.length === 0) return;
      const found = { ...Location.parse(rows[0]), server };
      const compared = last.then(() => compare(found)); // several connections may open at a time
      last = compared.catch(() => undefined);
      await compared;
    },
  };
}

const keyOf = ({ system, database }: Used): string => `${system} ${database}`;
const timelineOf = (one: Used | undefined): number => one?.timeline ?? 0;
const newer = (one: Used | undefined, other: Used | undefined) => (timelineOf(one) < timelineOf(other) ? other : one);

function olderCopy({ server, timeline }: Used, newest: Used, file: HistoryFile | null): DatabaseUnreachable {
  const forget = file === null ? 'start this program again' : `remove the file ${file.path} on this machine`;
  const text =
    `${server} is an older copy: it is at timeline ${timeline}, and this machine has used timeline ${newest.timeline} (at ${newest.server}). ` +
    `Start the newer server. If the older one was restored on purpose, ${forget}: then Callboard goes on with it.`;
  return new DatabaseUnreachable('it is from before a fail-over', { text });
}

/** @throws DatabaseUnreachable, with the file and what to do, if it cannot be read */
async function readNoted(file: HistoryFile | null): Promise<ReadonlyMap<string, Used>> {
  if (file === null) return new Map();
  try {
    const { newest } = Noted.parse(JSON.parse(await readFile(file.path, 'utf8')));
    return new Map(newest.map((one) => [keyOf(one), one]));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return new Map();
    const why = error instanceof z.ZodError ? 'its contents are not those that Callboard writes' : messageOf(error);
    const text =
      `the file ${file.path} says which copy of the database is the newest that this machine has used, and cannot be read (${why}). ` +
      'Make it readable. If it is damaged, start the newest server and remove the file.';
    throw new DatabaseUnreachable('no history of the servers', { text, cause: error });
  }
}

/**
 * Writes it down before the server is used. Returns what the file says then: without room on the disk, what it has said, since the
 * database does not need that disk.
 */
async function note(noted: ReadonlyMap<string, Used>, found: Used, { path, writer }: HistoryFile) {
  const all = new Map([...noted, [keyOf(found), found]]);
  try {
    const text = `${JSON.stringify({ newest: [...all.values()] }, null, 2)}\n`;
    await writeFile(`${path}.new`, text, { mode: 0o600, flush: true });
    await rename(`${path}.new`, path);
    return all;
  } catch (error) {
    writer?.warn({ err: error }, 'newest timeline of the database not noted');
    return noted;
  }
}
