import { stat } from 'node:fs/promises';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { z } from 'zod';
import { describeContents, explainBackupError } from '../backup-messages.ts';
import { dataDir, dataDirFlag, dataDirSuffix } from '../command-line/data-dir.ts';
import { parseGiven } from '../command-line/flags.ts';
import { path } from '../command-line/values.ts';
import type { Platform } from '../edges.ts';
import { CliError, UsageError } from '../errors.ts';
import { findSupervisor } from '../supervisor/supervisor-lock.ts';
import type { Command } from './command.ts';

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
