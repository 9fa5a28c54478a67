import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { shellQuote } from '@callboard/contract';
import { describeDiskError } from '@callboard/runtime/disk-errors';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { z } from 'zod';
import { argument, dataDir, dataDirFlag, dataDirSuffix, parseGiven, path } from '../command-line/flags.ts';
import { databaseUrlFlags, databaseUrlSchemas } from '../command-line/start-options.ts';
import { CliError, UsageError } from '../errors.ts';
import type { Platform } from '../platform.ts';
import { findSharedStore, type SharedStore } from '../shared-store.ts';
import { findSupervisor } from '../supervisor/control-socket.ts';
import type { Command } from './command.ts';

/** `callboard backup`: copies the store of a data directory, even while Callboard runs on it. */
export const backup: Command = {
  name: 'backup',
  summary: 'Copies the store into one file, even while Callboard runs.',
  flags: [
    argument('file', 'FILE', 'The file to create (backup/callboard-<time>.sqlite in the data directory).'),
    dataDirFlag,
    ...databaseUrlFlags,
  ],
  run: async ({ given, platform }) => {
    const schema = z.object({ 'data-dir': dataDir(platform), file: path(platform).optional(), ...databaseUrlSchemas });
    const { 'data-dir': folder, file, ...where } = parseGiven(schema, given);
    const shared = await findSharedStore(
      { url: where['database-url'], isPiped: where['database-url-stdin'] },
      folder,
      platform,
    );
    const target =
      file ?? join(folder, 'backup', `callboard-${platform.now().toISOString().replaceAll(':', '-')}.sqlite`);
    const { backupStore } = await import('@callboard/orchestrator/backup'); // loaded here because no other command needs it
    try {
      const proof = await backupStore(folder, target, shared && ((file) => copyShared(folder, shared, file)));
      platform.out(`Backed up to ${target}: ${describeContents(proof)}.`);
    } catch (error) {
      throw explainBackupError(error, folder, platform.home);
    }
    platform.out(`To restore it: npx callboard restore ${shellQuote(target)}${dataDirSuffix(folder, platform.home)}`);
    platform.err('callboard: the worktrees of stages belong to git and are not in the backup.');
    return 0;
  },
};

async function copyShared(dataDir: string, { url }: SharedStore, file: string): Promise<void> {
  const { copyStore } = await import('@callboard/store-postgres/commands');
  await copyStore({ dataDir, databaseUrl: url }, file);
}

/** Says what a backup holds: `3 stages, 1 decision`. */
function describeContents({ stages, decisions }: { stages: number; decisions: number }): string {
  return `${count(stages, 'stage')}, ${count(decisions, 'decision')}`;
}

const count = (number: number, what: string) => `${number} ${what}${number === 1 ? '' : 's'}`;

/** Returns a CliError that says why a backup or a restore failed and what to do next; an unknown error as it is. */
function explainBackupError(error: unknown, dataDir: string, home: string): unknown {
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

/** `callboard restore`: replaces the store of a data directory with a backup. */
export const restore: Command = {
  name: 'restore',
  summary: 'Ends all sessions, keeps the present store under another name, and restores a backup.',
  flags: [{ kind: 'argument', name: 'file', placeholder: 'FILE', required: true, help: 'The backup.' }, dataDirFlag],
  run: async ({ given, platform }) => {
    const schema = z.object({ 'data-dir': dataDir(platform), file: path(platform).optional() });
    const { 'data-dir': folder, file } = parseGiven(schema, given);
    if (file === undefined) throw new UsageError('restore needs the backup: callboard restore FILE');
    await requireFile(file);
    await requireStopped(folder, platform);
    const { proveBackup, requireOwnStore, restoreStore } = await import('@callboard/orchestrator/backup'); // see backup.ts
    try {
      // These fail before any session is ended.
      proveBackup(file);
      await requireOwnStore(folder);
      await endSessions(folder, platform);
      const { proof, aside } = await restoreStore(folder, file, platform.now());
      platform.out(`Restored ${file} to ${folder}: ${describeContents(proof)}.`);
      platform.out(aside === null ? 'There was no data before.' : `The previous store is kept as ${aside}`);
    } catch (error) {
      throw explainBackupError(error, folder, platform.home);
    }
    return 0;
  },
};

async function requireFile(file: string): Promise<void> {
  try {
    if ((await stat(file)).isFile()) return;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') throw new UsageError(`FILE: there is no file ${file}.`);
    throw new UsageError(`FILE: ${file} cannot be read: ${messageOf(error)}.`);
  }
  throw new UsageError(`FILE: ${file} is not a file.`);
}

async function requireStopped(folder: string, { home }: Platform): Promise<void> {
  const supervisor = await findSupervisor(folder);
  if (supervisor === null) return;
  throw new CliError(
    `Callboard runs on ${folder} (process ${supervisor.pid}); nothing was changed. ` +
      `End it first: npx callboard down${dataDirSuffix(folder, home)}`,
  );
}

/** The restored store does not know the sessions that began after the backup: nobody could find them again. */
async function endSessions(folder: string, platform: Platform): Promise<void> {
  const log = (line: string) => platform.err(`callboard: ${line}`);
  const result = await platform.endAllSessions(folder, { log }).catch((error: unknown) => {
    if (systemCode(error) === 'data_dir_in_use') throw error;
    log(`the present store cannot be read, so its sessions were not ended: ${messageOf(error)}`);
    return { failed: [] };
  });
  if (result.failed.length === 0) return;
  throw new CliError(
    `nothing was restored: these sessions are still running and could not be ended: ${result.failed.join(', ')}`,
  );
}
