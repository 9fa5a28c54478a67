import { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { type DatabaseAddress, nameOfServer } from '@callboard/runtime/database-url';
import { messageOf } from '@callboard/runtime/errors';
import { mark } from '@callboard/runtime/marks';
import pg from 'pg';
import { DatabaseUnreachable, isAnswerOfPostgres } from '../storage-failure.ts';
import { createServerHistory, type ServerHistory } from './server-history.ts';
import { tlsErrorText, tlsOf } from './tls.ts';

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
