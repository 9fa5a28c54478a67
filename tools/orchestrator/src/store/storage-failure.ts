import { messageOf, OperationalError, systemCode } from '../lib/errors.ts';

/** The result codes of SQLite that have words of their own. */
const READ_ONLY = 8;
const IO_ERROR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const NOT_A_DATABASE = 26;

/** Why the store cannot write. */
export interface StorageTrouble {
  isDiskFull: boolean;
  /** Whether what was committed before may be missing on the disk as well. */
  isDoubtful: boolean;
  /** The cause, and what to do. */
  words: string;
}

/** Null for an error that is not the store's own. */
export const troubleOf = (error: unknown): StorageTrouble | null =>
  isOfSqlite(error)
    ? {
        isDiskFull: resultCode(error) === FULL,
        isDoubtful: resultCode(error) === IO_ERROR,
        words: wordsOf(error),
      }
    : null;

/** Of a sync that failed, which is the system's error and not SQLite's. */
export function troubleOfSync(error: unknown): StorageTrouble {
  const isDiskFull = ['ENOSPC', 'EDQUOT'].includes(systemCode(error) ?? '');
  if (isDiskFull) return { isDiskFull, isDoubtful: true, words: DISK_FULL };
  const words = `what was written does not reach the disk (${messageOf(error)}). Look at the disk of the data directory.`;
  return { isDiskFull, isDoubtful: true, words };
}

const DISK_FULL = 'the disk of the data directory is full. Free some space.';

function wordsOf(error: unknown): string {
  switch (resultCode(error)) {
    case FULL:
      return DISK_FULL;
    case READ_ONLY:
      return 'the data directory is read-only. Make it writable.';
    case CANNOT_OPEN:
      return 'its files cannot be opened or made. Look at the permissions of the data directory, and whether its disk is writable.';
    default:
      return `${messageOf(error)}. Look at the disk and the permissions of the data directory.`;
  }
}

/** Whether the store itself failed (a full or read-only disk, a damaged file), and not a rule of ours. */
export const isStorageFailure = (error: unknown): boolean =>
  error instanceof OperationalError ? error.code === 'storage_failed' : isOfSqlite(error);

/** For whoever wanted something stored. */
export const storageFailed = ({ words }: StorageTrouble, cause: unknown): OperationalError =>
  new OperationalError(
    'storage_failed',
    `This could not be stored, so it did not happen: ${words} Callboard goes on by itself once it can write.`,
    { cause },
  );

/** Whether the file does not hold together, or is no database at all. */
export const isDamage = (error: unknown): boolean => [CORRUPT, NOT_A_DATABASE].includes(resultCode(error) ?? 0);

const isOfSqlite = (error: unknown): boolean =>
  systemCode(error) === 'ERR_SQLITE_ERROR' && !/constraint/i.test(messageOf(error));

/** Without the upper bytes, which tell kinds of the same error apart. */
const resultCode = (error: unknown): number | null =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : null;
