/** PostgreSQL for tests: Debian's programs, in a temporary folder, under an account that is not root. */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { appendFile, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { findProgram, isInstalled } from '../scripts/debian.ts';
import { freePort } from './free-port.ts';
import type { AtEnd } from './temporary-folder.ts';
import { until } from './until.ts';

/** Where the main process of a test run starts the server that the run shares: a socket (shared-postgres.ts). */
export const SHARED_VARIABLE = 'CALLBOARD_TEST_POSTGRES';
/** PostgreSQL's words for its ways to stop: `fast` ends the connections, `immediate` is like a crash. */
const STOP_SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const;

/** How to reach a server as its owner. */
export const ServerAddress = z.object({ socketFolder: z.string(), port: z.int(), password: z.string() });
export type ServerAddress = z.infer<typeof ServerAddress>;

/** A server that a test stops and starts. */
export interface PostgresServer {
  readonly address: ServerAddress;
  /** Resolves when the server takes connections again, on the same port. */
  start: () => Promise<void>;
  /** Resolves when its processes are gone. */
  stop: (how: keyof typeof STOP_SIGNALS) => Promise<void>;
  /** Ends all its processes by SIGKILL, as when its machine is switched off. */
  kill: () => Promise<void>;
}

/** A server that takes over what another one had. */
export interface StandbyServer extends PostgresServer {
  /** Makes it take writes, whether or not the other server has ended. */
  promote: () => Promise<void>;
  /** Makes it follow another server from now on; it must not have anything that this one lacks. */
  follow: (primary: ServerAddress) => Promise<void>;
}

/** Why no server can be started here, for the name of a skipped test; empty if one can. */
export const postgresLack: string = ['initdb', 'pg_basebackup', 'postgres', 'psql', 'setpriv'].every(isInstalled)
  ? ''
  : 'needs postgresql';

/**
 * Creates a database on the server that the whole run shares, and drops it at the end.
 * @param template the name of a database to copy, which nobody is connected to
 * @returns its URL, with a password, on the loopback address
 */
export async function createDatabase(atEnd: AtEnd = onTestFinished, template = 'template0'): Promise<string> {
  return createDatabaseOn(await sharedServer(), atEnd, template);
}

/** Like `createDatabase`, on a server of the test's own. */
export async function createDatabaseOn(
  address: ServerAddress,
  atEnd: AtEnd = onTestFinished,
  template = 'template0',
): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await runSql(address, `create database ${name} template ${template}`);
  // It may be stopped at the end; its folder is removed with it.
  atEnd(async () => {
    await runSql(address, `drop database if exists ${name} with (force)`).catch(() => undefined);
  });
  return `postgres://callboard:${address.password}@127.0.0.1:${address.port}/${name}`;
}

/** Runs SQL as the owner of the server. Resolves with the rows as `psql` prints them without decoration. */
export async function runSql(
  { socketFolder, port, password }: ServerAddress,
  sql: string,
  database = 'postgres',
): Promise<string> {
  const args = ['--no-psqlrc', '--quiet', '--tuples-only', '--no-align', '--set', 'ON_ERROR_STOP=1', '--command', sql];
  const where = ['--host', socketFolder, '--port', `${port}`, '--username', 'callboard', '--dbname', database];
  const env = { PATH: process.env.PATH, PGPASSWORD: password, LC_ALL: 'C.UTF-8' };
  const { stdout } = await promisify(execFile)(programPath('psql'), [...where, ...args], { env });
  return stdout.trim();
}

/**
 * Starts a server of its own: for tests that stop it. It ends with this process, however that ends.
 * @param settings lines for postgresql.conf, after the ones for quick tests (no fsync)
 * @param files put into its folder of data before the first start, for its account alone
 */
export async function startPostgres(
  atEnd: AtEnd = onTestFinished,
  settings: readonly string[] = [],
  files: Readonly<Record<string, string | Buffer>> = {},
): Promise<PostgresServer> {
  const folder = await createFolder(atEnd);
  const address = { socketFolder: folder, port: await freePort(), password: randomBytes(12).toString('hex') };
  await initialise(folder, address, settings);
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, 'data', name);
    await writeFile(path, content, { mode: 0o600 });
    await giveToServer(path);
  }
  const server = serverIn(folder, address, 'ready', atEnd);
  await server.start();
  return server;
}

export interface StandbyOptions {
  /** What `synchronous_standby_names` calls it. */
  name?: string;
  /** What `synchronous_standby_names` of the server is set to as soon as it follows; empty: no commit waits for it. */
  waitsFor?: string;
  /** A port that is free. */
  port?: number;
}

/** Starts a standby that follows a server by streaming replication. It ends with this process. */
export async function startStandby(
  { address: primary }: PostgresServer,
  atEnd: AtEnd = onTestFinished,
  { name = 'standby', waitsFor = '*', port }: StandbyOptions = {},
): Promise<StandbyServer> {
  const folder = await createFolder(atEnd);
  const address = { socketFolder: folder, port: port ?? (await freePort()), password: primary.password };
  const [command, ...args] = asAccount('pg_basebackup', [
    ...['--pgdata', join(folder, 'data'), '--write-recovery-conf', '--checkpoint', 'fast', '--no-sync'],
    ...['--host', primary.socketFolder, '--port', `${primary.port}`, '--username', 'callboard', '--no-password'],
  ]);
  await giveToServer(folder);
  await promisify(execFile)(command, args, { cwd: folder, env: { ...process.env, PGPASSWORD: primary.password } });
  await appendFile(
    join(folder, 'data', 'postgresql.conf'),
    linesOf([
      ...locationOf(folder, address.port, name),
      "wal_retrieve_retry_interval = '200ms'", // how often it looks for its server: 5 s if not set
    ]),
  );
  const server = serverIn(folder, address, 'standby', atEnd);
  await server.start();
  // Only now: without a standby, nothing could be committed.
  await runSql(primary, `alter system set synchronous_standby_names = '${waitsFor}'`);
  await runSql(primary, 'select pg_reload_conf()');
  await until('the standby follows', () => follows(primary, name, waitsFor));
  return {
    ...server,
    promote: async () => void (await runSql(address, 'select pg_promote()')),
    async follow({ socketFolder, port, password }) {
      const where = `host=${socketFolder} port=${port} user=callboard password=${password}`;
      await runSql(address, `alter system set primary_conninfo = '${where}'`);
      await runSql(address, 'select pg_reload_conf()');
    },
  };
}

/** Whether a standby gets all that happens, in the way that the server is set to. */
export async function follows(primary: ServerAddress, name: string, waitsFor: string): Promise<boolean> {
  const streaming = `state = 'streaming' and application_name = '${name}'`;
  const state = await runSql(primary, `select sync_state from pg_stat_replication where ${streaming}`);
  return state === (waitsFor === '' ? 'async' : waitsFor.startsWith('ANY') ? 'quorum' : 'sync');
}

/** How much a standby has, as an operator asks it: what it has received counts from a whole file on after it was started anew. */
export async function receivedBytes(standby: ServerAddress): Promise<number> {
  return Number(await runSql(standby, "select greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0'"));
}

async function createFolder(atEnd: AtEnd): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'callboard-postgres-'));
  atEnd(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}

function serverIn(folder: string, address: ServerAddress, state: 'ready' | 'standby', atEnd: AtEnd): PostgresServer {
  let postgres: ChildProcess | null = null;
  const stop = async (how: keyof typeof STOP_SIGNALS) => {
    if (postgres === null) return;
    await end(postgres, STOP_SIGNALS[how]);
    postgres = null;
  };
  atEnd(() => stop('immediate'));
  return {
    address,
    async start() {
      postgres = await run(folder, state);
    },
    stop,
    async kill() {
      if (postgres === null) return;
      await killAll(postgres, folder);
      postgres = null;
    },
  };
}

/** Makes the account that the servers run under the owner of a path. */
export async function giveToServer(path: string): Promise<void> {
  const owner = account();
  if (owner !== null) await chown(path, owner.uid, owner.gid);
}

/** Locale-aware order and a password: as a person's server has them, unlike the defaults of a quick test. */
async function initialise(folder: string, { port, password }: ServerAddress, settings: readonly string[]) {
  const data = join(folder, 'data');
  const passwordFile = join(folder, 'password');
  await mkdir(data, { mode: 0o700 });
  await writeFile(passwordFile, password, { mode: 0o600 });
  for (const path of [folder, data, passwordFile]) await giveToServer(path);
  const [command, ...args] = asAccount('initdb', [
    ...['--pgdata', data, '--username', 'callboard', '--pwfile', passwordFile, '--auth', 'scram-sha-256', '--no-sync'],
    ...['--encoding', 'UTF8', '--locale', 'C.UTF-8', '--locale-provider', 'icu', '--icu-locale', 'en'],
  ]);
  await promisify(execFile)(command, args, { cwd: folder });
  const lines = [
    ...locationOf(folder, port, 'primary'),
    "listen_addresses = '127.0.0.1'",
    'fsync = off',
    'full_page_writes = off',
    'max_connections = 200',
    'shared_buffers = 32MB',
    'dynamic_shared_memory_type = mmap', // in its folder, which is removed also after it was killed
    ...settings,
  ];
  await writeFile(join(data, 'postgresql.conf'), linesOf(lines));
}

const locationOf = (folder: string, port: number, name: string) => [
  `port = ${port}`,
  `unix_socket_directories = '${folder}'`,
  `cluster_name = '${name}'`,
];
const linesOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('');

async function run(folder: string, state: 'ready' | 'standby'): Promise<ChildProcess> {
  const data = join(folder, 'data');
  const log = openSync(join(folder, 'log'), 'a');
  const [command, ...args] = asAccount('postgres', ['-D', data]);
  // A group of its own: Ctrl-C ends it only with this process.
  const postgres = spawn(command, args, { cwd: folder, stdio: ['ignore', log, log], detached: true });
  closeSync(log);
  const isReady = async () => {
    if (postgres.exitCode !== null || postgres.signalCode !== null)
      throw new Error(`PostgreSQL ended: ${await readFile(join(folder, 'log'), 'utf8')}`);
    const pidFile = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '');
    return pidFile.startsWith(`${postgres.pid}\n`) && [state, 'ready'].some((word) => pidFile.trimEnd().endsWith(word));
  };
  try {
    await until('PostgreSQL takes connections', isReady);
  } catch (error) {
    await end(postgres, 'SIGQUIT');
    throw error;
  }
  return postgres;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

/** Its own account's shared memory is all that a killed server leaves outside of its folder. */
async function killAll(postgres: ChildProcess, folder: string): Promise<void> {
  const { pid } = postgres;
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter((one) => one !== '');
  const memory = (await readFile(join(folder, 'data', 'postmaster.pid'), 'utf8')).split('\n')[6]?.trim().split(/ +/)[1];
  await end(postgres, 'SIGKILL');
  for (const child of children) {
    try {
      process.kill(Number(child), 'SIGKILL');
    } catch {
      // it ended with its parent
    }
  }
  await until('its processes are gone', () => children.every((child) => !existsSync(`/proc/${child}`)));
  if (memory !== undefined) await promisify(execFile)('ipcrm', ['--shmem-id', memory]);
}

/** A command line that runs one of PostgreSQL's programs under its account, and ends it with this process. */
function asAccount(program: string, args: readonly string[]): [command: string, ...args: string[]] {
  const owner = account();
  const change = owner === null ? [] : ['--reuid', `${owner.uid}`, '--regid', `${owner.gid}`, '--clear-groups'];
  return ['setpriv', ...change, '--pdeathsig', 'QUIT', programPath(program), ...args];
}

/** PostgreSQL refuses to run as root. Null if this process is somebody else. */
function account(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = ['-u', '-g'].map((option) => Number(execFileSync('id', [option, name], { stdio: 'pipe' })));
      if (uid !== undefined && gid !== undefined) return { uid, gid };
    } catch {
      // no such account
    }
  }
  throw new Error('There is no account that PostgreSQL could run under');
}

/** The program's path must exist: callers skip their tests otherwise. */
function programPath(program: string): string {
  const path = findProgram(program);
  if (path === undefined) throw new Error(`${program} is not installed (Debian's package postgresql)`);
  return path;
}

let shared: Promise<ServerAddress> | undefined;

/** Resolves with the server of this run; the first caller waits until it is started. */
export function sharedServer(): Promise<ServerAddress> {
  shared ??= askForServer();
  return shared;
}

async function askForServer(): Promise<ServerAddress> {
  const path = process.env[SHARED_VARIABLE];
  if (path === undefined) throw new Error(`the project of this test has no global set-up (${SHARED_VARIABLE})`);
  return ServerAddress.parse(JSON.parse(await text(connect(path))));
}
