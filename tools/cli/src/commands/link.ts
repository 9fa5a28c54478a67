import { z } from 'zod';
import { dataDir, dataDirFlag, dataDirSuffix } from '../command-line/data-dir.ts';
import { parseGiven } from '../command-line/flags.ts';
import { CliError } from '../errors.ts';
import { askForLink } from '../supervisor/control-socket.ts';
import { findSupervisor } from '../supervisor/supervisor-lock.ts';
import type { Command } from './command.ts';

/** `callboard link`: prints a new login link for the Callboard that runs on a data directory. */
export const link: Command = {
  name: 'link',
  summary: 'Prints a new login link for the running Callboard; it works once.',
  flags: [dataDirFlag],
  run: async ({ given, platform }) => {
    const folder = parseGiven(z.object({ 'data-dir': dataDir(platform) }), given)['data-dir'];
    if ((await findSupervisor(folder)) === null) {
      const start = `npx callboard start${dataDirSuffix(folder, platform.home)}`;
      throw new CliError(
        `no Callboard runs on ${folder}. A demo names its own data directory, for --data-dir. Or start one, which prints a link: ${start}`,
      );
    }
    platform.out(await askForLink(folder));
    return 0;
  },
};
