import { join } from 'node:path';
import { shellQuote } from '@callboard/contract';
import { z } from 'zod';
import { describeContents, explainBackupError } from '../backup-messages.ts';
import { dataDir, dataDirFlag, dataDirSuffix } from '../command-line/data-dir.ts';
import { parseGiven } from '../command-line/flags.ts';
import { databaseUrlFlags, databaseUrlSchemas } from '../command-line/shared-store.ts';
import { path } from '../command-line/values.ts';
import { findSharedStore } from '../shared-store.ts';
import type { Command } from './command.ts';

/** `callboard backup`: copies the store of a data directory, even while Callboard runs on it. */
export const backup: Command = {
  name: 'backup',
  summary: 'Copies the store into one file, even while Callboard runs.',
  flags: [
    {
      kind: 'argument',
      name: 'file',
      placeholder: 'FILE',
      help: 'The file to create (backup/callboard-<time>.sqlite in the data directory).',
    },
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
      const proof = await backupStore(folder, target, shared?.url ?? null);
      platform.out(`Backed up to ${target}: ${describeContents(proof)}.`);
    } catch (error) {
      throw explainBackupError(error, folder, platform.home);
    }
    platform.out(`To restore it: npx callboard restore ${shellQuote(target)}${dataDirSuffix(folder, platform.home)}`);
    platform.err('callboard: the worktrees of stages belong to git and are not in the backup.');
    return 0;
  },
};
