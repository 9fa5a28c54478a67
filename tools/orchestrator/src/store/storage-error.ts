import { isDiskFull } from '@callboard/runtime/disk-errors';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { forEachAtOnce } from '../lib/async.ts';
import { OperationalError } from '../lib/errors.ts';
import type { Platform } from '../platform/runtime.ts';

/** Result codes of SQLite that get a specific message. */
const READ_ONLY = 8;
const IO_ERROR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const NOT_A_DATABASE = 26;

/** Why the store cannot write. */
export interface StorageError {
  isDiskFull: boolean;
  /** Whether earlier commits may be missing on the disk as well. */
  isDoubtful: boolean;
  /** Whether this process will not write again, whatever becomes of the store: another version has to be started. */
  isLasting: boolean;
  /** The cause, and what to do. */
  text: string;
}

/** The database on another machine does not answer, or takes no writes. */
export class DatabaseUnreachable extends Error {
  override readonly name = 'DatabaseUnreachable';
  /** The cause and what to do, where that is neither the server nor the network. */
  readonly text: string | null;

  constructor(message: string, { text = null, ...options }: ErrorOptions & { text?: string | null } = {}) {
    super(message, options);
    this.text = text;
  }
}

/** A newer Callboard has changed the schema of the database. */
export class StoreOutgrown extends DatabaseUnreachable {
  constructor(text: string) {
    super('a newer Callboard has changed it', { text });
  }
}

/** Describes a failure of the store; null for any other error. */
export function storageErrorOf(error: unknown): StorageError | null {
  if (isOfSqlite(error))
    return {
      isDiskFull: resultCode(error) === FULL,
      isDoubtful: resultCode(error) === IO_ERROR,
      isLasting: false,
      text: textOf(error),
    };
  if (!isOfPostgres(error)) return null;
  const isLasting = error instanceof StoreOutgrown;
  return {
    isDiskFull: sqlState(error) === SERVER_DISK_FULL,
    isDoubtful: false,
    isLasting,
    text: postgresErrorText(error),
  };
}

/** Codes of PostgreSQL that get a specific message, and the classes of those that mean that it cannot work now. */
const SERVER_DISK_FULL = '53100';
const TOO_MANY_CONNECTIONS = '53300';
const READ_ONLY_SERVER = '25006';
const LOCK_TIMEOUT = '55P03';
const CANNOT_WORK = /^(08|28|3D|40|53|57|58|F0|XX|25006|25P03|42501|55P03)/;

/** Whether PostgreSQL itself said it. */
export const isAnswerOfPostgres = (error: unknown): boolean => sqlState(error) !== null;

/** Whether PostgreSQL does not let this account call something, or does not have it; services that resemble it lack some of it. */
export const isNotAvailable = (error: unknown): boolean => /^(42|0A|55000)/.test(sqlState(error) ?? '');

const isOfPostgres = (error: unknown): boolean =>
  error instanceof DatabaseUnreachable || CANNOT_WORK.test(sqlState(error) ?? '');

const sqlState = (error: unknown): string | null =>
  error instanceof Error && 'severity' in error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : null;

function postgresErrorText(error: unknown): string {
  if (error instanceof DatabaseUnreachable && error.text !== null) return error.text;
  switch (sqlState(error)) {
    case SERVER_DISK_FULL:
      return "the disk of the database's server is full. Free some space there.";
    case TOO_MANY_CONNECTIONS:
      return 'the database has no connection left. Raise its max_connections, or end other clients.';
    case READ_ONLY_SERVER:
      return 'the database takes no writes (a standby, or set to read-only). Name its primary in the URL.';
    case LOCK_TIMEOUT:
      return 'a write that began before has not ended at the database. If its server waits for a synchronous standby (synchronous_standby_names), start one; else check the server.';
    case null:
      return `the database cannot be reached (${messageOf(error)}). Check its server and the network.`;
    default:
      return `the database cannot do it (${messageOf(error)}). Check its server.`;
  }
}

/** Describes a failed sync: a system error, not one of SQLite. */
export function storageErrorOfSync(error: unknown): StorageError {
  if (isDiskFull(error)) return { isDiskFull: true, isDoubtful: true, isLasting: false, text: DISK_FULL };
  const text = `writes do not reach the disk (${messageOf(error)}). Check the disk of the data directory.`;
  return { isDiskFull: false, isDoubtful: true, isLasting: false, text };
}

const DISK_FULL = 'the disk of the data directory is full. Free some space.';

function textOf(error: unknown): string {
  switch (resultCode(error)) {
    case FULL:
      return DISK_FULL;
    case READ_ONLY:
      return 'the data directory is read-only. Make it writable.';
    case CANNOT_OPEN:
      return 'its files cannot be opened or created. Check the permissions of the data directory, and whether its disk is writable.';
    default:
      return `${messageOf(error)}. Check the disk and the permissions of the data directory.`;
  }
}

/**
 * Whether the store itself failed (a full or read-only disk, a damaged file), not a rule of Callboard. A machine whose epoch has
 * ended waits in the same way: it starts again before it does anything else, and must end nothing until then.
 */
export const isStorageFailure = (error: unknown): boolean =>
  error instanceof OperationalError ? WAITING.has(error.code) : isOfSqlite(error) || isOfPostgres(error);

const WAITING: ReadonlySet<string> = new Set(['storage_failed', 'lease_lost']);

/** Returns the error for the caller whose write failed. */
export const storageFailed = (storageError: StorageError, cause: unknown): OperationalError =>
  new OperationalError(
    'storage_failed',
    `This could not be stored, so it did not happen: ${textWithOutlook(storageError)}`,
    {
      cause,
    },
  );

/** Why the store cannot write, with what becomes of that. */
export const textWithOutlook = ({ text, isLasting }: StorageError): string =>
  isLasting ? text : `${text} Callboard continues as soon as it can write.`;

/** Returns the error for a read of a store that is closed. */
export const storeClosed = (): OperationalError =>
  new OperationalError(
    'orchestrator_unreachable',
    'Callboard is stopping, so its store is not read any more. Try again once it is started.',
  );

/** Returns the error for the caller whose commit was cut off, if Callboard cannot learn what became of it. */
export const outcomeUnknown = (cause: unknown): OperationalError =>
  new OperationalError(
    'no_confirmation',
    'The connection to the database was lost while this was stored, so it is unknown whether it was. Look at the state before trying again.',
    { cause },
  );

/** Whether nobody could learn whether something was stored. */
export const isOutcomeUnknown = (error: unknown): boolean =>
  error instanceof OperationalError && error.code === 'no_confirmation';

/** Whether the file is damaged, or is not a database. */
export const isDamage = (error: unknown): boolean => [CORRUPT, NOT_A_DATABASE].includes(resultCode(error) ?? 0);

const isOfSqlite = (error: unknown): boolean =>
  systemCode(error) === 'ERR_SQLITE_ERROR' && !/constraint/i.test(messageOf(error));

/** Without the upper bytes, which distinguish kinds of the same error. */
const resultCode = (error: unknown): number | null =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : null;

/** Low, because each sync occupies one of the four threads that also read files. */
const SYNCS_AT_ONCE = 2;

/**
 * Syncs files to the disk; missing ones are skipped, except for `needed`.
 * @throws OperationalError `storage_failed`, after telling
 */
export async function syncFiles(
  paths: readonly string[],
  platform: Pick<Platform, 'syncFile'>,
  onFailure: (storageError: StorageError) => void,
  needed?: string,
): Promise<void> {
  try {
    await forEachAtOnce(paths, SYNCS_AT_ONCE, async (path) => {
      await platform.syncFile(path).catch((error: unknown) => {
        if (path === needed || systemCode(error) !== 'ENOENT') throw error;
      });
    });
  } catch (error) {
    const storageError = storageErrorOfSync(error);
    onFailure(storageError);
    throw storageFailed(storageError, error);
  }
}
