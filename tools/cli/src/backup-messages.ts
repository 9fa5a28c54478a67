import { describeDiskError } from '@callboard/runtime/disk-errors';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { dataDirSuffix } from './command-line/data-dir.ts';
import { CliError } from './errors.ts';

/** Says what a backup holds: `3 stages, 1 decision`. */
export function describeContents({ stages, decisions }: { stages: number; decisions: number }): string {
  return `${count(stages, 'stage')}, ${count(decisions, 'decision')}`;
}

const count = (number: number, what: string) => `${number} ${what}${number === 1 ? '' : 's'}`;

/** Returns a CliError that says why a backup or a restore failed and what to do next; an unknown error as it is. */
export function explainBackupError(error: unknown, dataDir: string, home: string): unknown {
  const message = messageOf(error);
  switch (systemCode(error)) {
    case 'no_data':
      return new CliError(`there is nothing to back up: ${message} Name another data directory with --data-dir.`);
    case 'backup_exists':
      return new CliError(`nothing was written: ${message}`);
    case 'backup_failed':
      return new CliError(`${message}. Is there room on the disk, and may this account write there?`);
    case 'backup_damaged':
      return new CliError(`nothing was changed: ${message}. Take another backup.`);
    case 'store_elsewhere':
      return new CliError(`nothing was changed: ${message}`);
    case 'data_dir_in_use':
      return new CliError(
        `nothing was changed: Callboard is running on ${dataDir}. ` +
          `End it first: npx callboard down${dataDirSuffix(dataDir, home)}`,
      );
    case 'ENOTDIR':
    case 'EEXIST':
    case 'EISDIR':
      return new CliError(`a backup cannot be written there: ${message}`);
  }
  const cause = describeDiskError(error);
  return cause === null ? error : new CliError(`${cause}; what was there is untouched: ${message}`);
}
