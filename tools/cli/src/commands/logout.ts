import { z } from 'zod';
import { dataDir, dataDirFlag } from '../command-line/data-dir.ts';
import { parseGiven } from '../command-line/flags.ts';
import { CliError } from '../errors.ts';
import type { Command } from './command.ts';

/** `callboard logout`: ends the login of this terminal. */
export const logout: Command = {
  name: 'logout',
  summary: 'Ends the login of this terminal.',
  flags: [dataDirFlag],
  run: async ({ given, platform }) => {
    const folder = parseGiven(z.object({ 'data-dir': dataDir(platform) }), given)['data-dir'];
    const [{ explained, findAddress }, { forgetLogin, readLogin }, { revoke }] = await Promise.all([
      import('../terminal/desk.ts'),
      import('../terminal/login-file.ts'),
      import('../terminal/revoke.ts'),
    ]);
    const login = await readLogin(platform, folder);
    if (login === null) throw new CliError(`this terminal is not logged in to the Callboard on ${folder}.`);
    await explained(async () => revoke(await findAddress(login, platform), login.token));
    await forgetLogin(platform, folder);
    platform.out('Logged out.');
    return 0;
  },
};
