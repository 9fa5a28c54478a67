import { join } from 'node:path';
import { z } from 'zod';
import { describeHeld, explainBackup } from '../backup-words.ts';
import { dataDir, dataDirFlag, dataDirSuffix } from '../command-line/data-dir.ts';
import { parseGiven } from '../command-line/parse-given.ts';
import { quoted } from '../command-line/quote.ts';
import { path } from '../command-line/values.ts';
import type { Command } from './command.ts';

/** `callboard backup`: copies the store of a data directory, also while Callboard runs on it. */
export const backup: Command = {
  name: 'backup',
  summary: 'Copies all that Callboard keeps into one file; it may run meanwhile.',
  flags: [
    {
      kind: 'argument',
      name: 'file',
      placeholder: 'FILE',
      help: 'The file to make (backup/callboard-<time>.sqlite in the data directory).',
    },
    dataDirFlag,
  ],
  run: async ({ given, edges }) => {
    const schema = z.object({ 'data-dir': dataDir(edges), file: path(edges).optional() });
    const { 'data-dir': folder, file } = parseGiven(schema, given);
    const target = file ?? join(folder, 'backup', `callboard-${edges.now().toISOString().replaceAll(':', '-')}.sqlite`);
    const { backupStore } = await import('@callboard/orchestrator/backup'); // no other command has to load all of it
    try {
      const proof = await backupStore(folder, target);
      edges.out(`Backed up to ${target}: ${describeHeld(proof)}.`);
    } catch (error) {
      throw explainBackup(error, folder, edges.home);
    }
    edges.out(`To bring it back: npx callboard restore ${quoted(target)}${dataDirSuffix(folder, edges.home)}`);
    edges.err("callboard: stages' worktrees are git's and are not in it.");
    return 0;
  },
};
