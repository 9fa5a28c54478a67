import { messageOf, systemCode } from '@callboard/runtime/errors';
import { dataDirSuffix } from './command-line/data-dir.ts';
import { OperationalError } from './errors.ts';

/** What a backup holds, in words. */
export function describeHeld({ stages, decisions }: { stages: number; decisions: number }): string {
  return `${count(stages, 'stage')}, ${count(decisions, 'decision')}`;
}

const count = (number: number, what: string) => `${number} ${what}${number === 1 ? '' : 's'}`;

/** Turns what went wrong with a backup into words with the next step; anything unknown is returned as it is. */
export function explainBackup(error: unknown, dataDir: string, home: string): unknown {
  const message = messageOf(error);
  switch (systemCode(error)) {
    case 'no_data':
      return new OperationalError(`there is nothing to back up: ${message} Name another one with --data-dir.`);
    case 'backup_exists':
      return new OperationalError(`nothing was written: ${message}`);
    case 'backup_failed':
      return new OperationalError(`${message}. Is there room on the disk, and may this account write there?`);
    case 'backup_damaged':
      return new OperationalError(`nothing was changed: ${message}. Take another backup.`);
    case 'data_dir_in_use':
      return new OperationalError(
        `nothing was changed: Callboard works on ${dataDir}. ` +
          `End it first: npx callboard down${dataDirSuffix(dataDir, home)}`,
      );
    case 'ENOTDIR':
    case 'EEXIST':
    case 'EISDIR':
      return new OperationalError(`a backup cannot be written there: ${message}`);
    case 'ENOSPC':
    case 'EDQUOT':
      return new OperationalError(`the disk is full; what was there is untouched: ${message}`);
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new OperationalError(`this account may not write there; what was there is untouched: ${message}`);
    default:
      return error;
  }
}
