import { readFileSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { DatabaseUnreachable, isAnswerOfPostgres, isNotAvailable } from '@callboard/orchestrator/storage-error';
import type { Logger } from '@callboard/orchestrator/store';
import { type DatabaseAddress, nameOfServer } from '@callboard/runtime/database-url';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { mark } from '@callboard/runtime/marks';
import pg from 'pg';
import { z } from 'zod';

type Host = DatabaseAddress['hosts'][number];

/** A connection must be there within this time, and an answer within the other: nothing waits for a dead network for ever. */
const CONNECT_MS = 3_000;
const ANSWER_MS = 45_000;
/** Idle for so long, the system asks each second whether the server is there, and gives up after ten times (libuv's numbers). */
const KEEP_ALIVE_MS = 5_000;
/** The server's own limits, from the shortest on: whoever holds the lock and falls silent loses it before others give up. */
const SERVER_LIMITS = {
  idle_in_transaction_session_timeout: 10_000,
  lock_timeout: 15_000,
  statement_timeout: 30_000,
};
/** The server drops a connection whose machine is gone; no just-in-time compiler for short queries; whole numbers stay exact. */
const OPTIONS = [
  ...['tcp_keepalives_idle=5', 'tcp_keepalives_interval=5', 'tcp_keepalives_count=3', 'tcp_user_timeout=15000'],
  ...['jit=off', 'standard_conforming_strings=on', 'TimeZone=UTC', 'extra_float_digits=1'],
]
  .map((setting) => `-c ${setting}`)
  .join(' ');

const INT8 = 20;
const NUMERIC = 1700;
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 || oid === NUMERIC ? Number : pg.types.getTypeParser(oid, format),
};

/** As much of a statement as says which one it is, and none of its data. */
const MARKED_CHARACTERS = 60;

export interface LinkQuery {
  text: string;
  values?: readonly unknown[];
  /** Prepares the query on this connection under the name. */
  name?: string;
}

export interface LinkResult {
  rows: unknown[];
  rowCount: number | null;
  command: string;
}

/** A connection to the database. */
export interface PgLink {
  readonly isBroken: () => boolean;
  /** @throws DatabaseUnreachable if no answer comes; PostgreSQL's own error otherwise */
  query(query: LinkQuery): Promise<LinkResult>;
  /** Runs several statements without values in one round trip; one result for each. */
  queryAll(text: string): Promise<LinkResult[]>;
  /**
   * Sends a query whose result nobody needs with the next one, in the same round trip and before it. If it fails, the next one
   * throws that failure. For a transaction only: there, nothing is committed behind a query that has failed.
   */
  queryLater(query: LinkQuery): void;
  /** Forgets what was not sent yet, and ends the transaction. Never throws. */
  rollback(): Promise<void>;
  onBroken(listener: () => void): void;
  onNotification(listener: (payload: string) => void): void;
  end(): Promise<void>;
}

/**
 * Opens a connection to the first host that takes writes.
 * @param signal ends the connection, also one that is being made
 * @throws DatabaseUnreachable, or PostgreSQL's own error
 */
export type Connect = (signal?: AbortSignal) => Promise<PgLink>;

/**
 * Connects to the hosts in turn, beginning with the one that answered last. Of several, all are asked which of them is the newest, at
 * first and whenever a connection was lost: one from before a fail-over may be back meanwhile, and take writes.
 */
export function createConnect(address: DatabaseAddress, history: ServerHistory = createServerHistory()): Connect {
  const { hosts } = address;
  let isAsked = false;
  let best = 0;

  const open = (host: Host, signal?: AbortSignal): Promise<PgLink> => connectTo(address, { host, history }, signal);

  /** Returns whether one has answered. Those that fail do so again in their turn. */
  async function askAll(signal?: AbortSignal): Promise<boolean> {
    const asked = await Promise.allSettled(hosts.map(async (host) => (await open(host, signal)).end()));
    return asked.some(({ status }) => status === 'fulfilled');
  }

  return async (signal) => {
    if (hosts.length > 1 && !isAsked) isAsked = await askAll(signal);
    let failure: unknown;
    for (let at = 0; at < hosts.length && !signal?.aborted; at++) {
      const index = (best + at) % hosts.length;
      const host = hosts[index];
      if (host === undefined) continue;
      try {
        const link = await open(host, signal);
        best = index;
        return noticingLoss(link, () => {
          isAsked = false;
        });
      } catch (error) {
        if (failure === undefined || (!hasText(failure) && hasText(error))) failure = error;
      }
    }
    throw failure ?? notNeeded();
  };
}

/** @param onLost called if the connection breaks before it is ended here */
function noticingLoss(link: PgLink, onLost: () => void): PgLink {
  let isEnded = false;
  link.onBroken(() => {
    if (!isEnded) onLost();
  });
  return {
    ...link,
    end() {
      isEnded = true;
      return link.end();
    },
  };
}

const notNeeded = () => new DatabaseUnreachable('the connection is not needed any more');

/** Whether a failure says more than that a server does not answer. */
const hasText = (error: unknown): boolean => error instanceof DatabaseUnreachable && error.text !== null;

async function connectTo(
  address: DatabaseAddress,
  { host: server, history }: { host: Host; history: ServerHistory },
  signal?: AbortSignal,
): Promise<PgLink> {
  const { host, port } = server;
  const socket = new Socket();
  const client = new pg.Client({
    stream: () => socket,
    pipeline: true,
    host,
    port,
    database: address.database,
    ...(address.user !== null && { user: address.user }),
    ...(address.password !== null && { password: address.password }),
    ssl: tlsOf(address.parameters),
    types,
    options: OPTIONS,
    application_name: 'callboard',
    client_encoding: 'UTF8',
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: ANSWER_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    ...SERVER_LIMITS,
  });
  const link = linkOf(client, socket);
  const unneeded = Promise.withResolvers<never>();
  unneeded.promise.catch(() => undefined); // only while it is being made does anybody wait
  const end = () => {
    unneeded.reject(notNeeded()); // `pg` settles nothing once it is ending
    void link.end();
  };
  signal?.addEventListener('abort', end, { once: true });
  link.onBroken(() => signal?.removeEventListener('abort', end));
  try {
    await Promise.race([client.connect(), unneeded.promise]);
    await requireUsable(link, () => history.require(link, nameOfServer(server)));
    return link;
  } catch (error) {
    await link.end();
    const text = tlsErrorText(error, host);
    throw text === null ? asUnreachable(error) : new DatabaseUnreachable(messageOf(error), { text, cause: error });
  }
}

/** A server that takes connections and answers nothing is not reached either. @param requireNewest looks at its timeline */
async function requireUsable(link: PgLink, requireNewest: () => Promise<void>): Promise<void> {
  const timer = setTimeout(() => void link.end(), CONNECT_MS).unref();
  try {
    const { rows } = await link.query({ text: 'show transaction_read_only' });
    if (JSON.stringify(rows).includes('"on"'))
      throw new DatabaseUnreachable('it takes no writes (a standby, or set so)');
    await requireNewest();
  } finally {
    clearTimeout(timer);
  }
}

function linkOf(client: pg.Client, socket: Socket): PgLink {
  let isBroken = false;
  /** Queries that go out with the next one. */
  let later: LinkQuery[] = [];
  let unanswered = 0;
  const listeners = new Set<() => void>();
  const fall = () => {
    if (isBroken) return;
    isBroken = true;
    for (const listener of listeners) listener();
  };
  client.on('error', fall);
  client.on('end', fall);

  const send = (query: LinkQuery) => client.query({ ...query, values: (query.values ?? []).map(bindable) });

  /** One round trip. Of several failures the first one counts: the others follow from it. */
  async function ask<T>(text: string, last: () => Promise<T>): Promise<T> {
    if (unanswered++ === 0) mark('database asked', text.slice(0, MARKED_CHARACTERS));
    const before = later.splice(0);
    const { stream } = client.connection; // not the socket, if that is encrypted
    stream.cork();
    const sent = before.map(send);
    const asked = last();
    stream.uncork();
    const answers = await Promise.allSettled([...sent, asked]);
    unanswered--;
    const failed = answers.find((answer) => answer.status === 'rejected');
    if (failed === undefined) return asked;
    if (isFatal(failed.reason) || !isAnswerOfPostgres(failed.reason)) {
      fall();
      void end();
    }
    throw asUnreachable(failed.reason);
  }

  async function end(): Promise<void> {
    fall();
    if (unanswered > 0) socket.destroy(); // `pg` would wait for the answer
    // A server that is gone does not say goodbye either.
    await Promise.race([client.end().catch(() => undefined), wait(1_000, undefined, { ref: false })]);
    socket.destroy();
  }

  const queryAll = (text: string) => ask(text, async () => [await client.query(text)].flat());
  return {
    isBroken: () => isBroken,
    query: (query) => ask(query.text, () => send(query)),
    queryAll,
    queryLater: (query) => void later.push(query),
    async rollback() {
      later = [];
      await queryAll('rollback').catch(() => undefined);
    },
    onBroken: (listener) => void listeners.add(listener),
    onNotification: (listener) => void client.on('notification', ({ payload }) => listener(payload ?? '')),
    end,
  };
}

/** PostgreSQL stores no NUL in a text. Documents are JSON, which escapes it. */
const bindable = (value: unknown): unknown => (typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : value);

/** The connection ends after it. */
const isFatal = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && (error.severity === 'FATAL' || error.severity === 'PANIC');

/** Whatever is not an answer of the server means that there is none. */
function asUnreachable(error: unknown): unknown {
  if (error instanceof DatabaseUnreachable || isAnswerOfPostgres(error)) return error;
  return new DatabaseUnreachable(messageOf(error), { cause: error });
}

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

/**
 * How the connection is encrypted, as `psql` understands the URL; without any `sslmode` it is not.
 * @throws DatabaseUnreachable, with the file and what to do, if the certificate of the authority cannot be read
 */
function tlsOf(parameters: DatabaseAddress['parameters']): pg.ClientConfig['ssl'] {
  const mode = parameters.get('sslmode') ?? 'disable';
  if (mode === 'disable' || mode === 'allow' || mode === 'prefer') return false;
  const file = parameters.get('sslrootcert');
  const ca = file === undefined ? {} : { ca: readCertificate(file) };
  if (mode === 'require' && file === undefined) return { rejectUnauthorized: false };
  return mode === 'verify-full' ? ca : { ...ca, checkServerIdentity: () => undefined };
}

function readCertificate(file: string): string {
  try {
    const text = readFileSync(file, 'utf8');
    if (text.includes('-----BEGIN ')) return text;
  } catch (error) {
    const text = `the file ${file}, which sslrootcert in the database's URL names, cannot be read (${messageOf(error)}). Correct the path, or make the file readable for this account.`;
    throw new DatabaseUnreachable('no certificate of the authority', { text, cause: error });
  }
  const text = `the file ${file}, which sslrootcert in the database's URL names, holds no certificate in the PEM format. Name the certificate of the authority that has signed the server's.`;
  throw new DatabaseUnreachable('no certificate of the authority', { text });
}

const UNTRUSTED: ReadonlySet<string | undefined> = new Set([
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'CERT_SIGNATURE_FAILURE', 'CERT_UNTRUSTED'],
]);
/** `pg` gives these no code. */
const NO_TLS = 'The server does not support SSL connections';
/** How PostgreSQL ends the refusal of a connection that is not encrypted, where it speaks English. */
const NOT_ENCRYPTED = /, (no encryption|SSL off)$/;

/** Says why no encrypted connection came about, and what to do; null for any other failure. */
function tlsErrorText(error: unknown, host: string): string | null {
  const code = systemCode(error);
  const message = messageOf(error);
  const server = `the database's server ${host}`;
  if (UNTRUSTED.has(code))
    return `${server} has a certificate that is not signed by an authority this machine trusts (${message}). Name the certificate of its authority with sslrootcert in the database's URL.`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `${server} has a certificate for another name (${message}). Name the server in the database's URL as its certificate does, or give it a certificate for this name.`;
  if (code === 'CERT_HAS_EXPIRED')
    return `${server} has a certificate that has expired. Renew it there; if it has not, correct the clock of this machine.`;
  if (code === 'CERT_NOT_YET_VALID')
    return `${server} has a certificate that is not valid yet. Correct the clock of this machine, or replace the certificate.`;
  if (message === NO_TLS)
    return `${server} takes no encrypted connections. Switch ssl on in its postgresql.conf; or leave out sslmode if nobody can eavesdrop on the connection.`;
  if (code === '28000' && NOT_ENCRYPTED.test(message))
    return `${server} refuses connections that are not encrypted (${message}). Add sslmode=verify-full to the database's URL; if it has, no entry of the server's pg_hba.conf allows this connection.`;
  if (code !== undefined && /^ERR_(SSL|TLS|OSSL)_/.test(code))
    return `no encrypted connection to ${server} could be established (${message}). Compare ssl_min_protocol_version and the certificate there with what this machine supports.`;
  return null;
}
