import { z } from 'zod';
import { dataDir, dataDirFlag, dataDirSuffix } from '../command-line/data-dir.ts';
import { parseGiven } from '../command-line/flags.ts';
import { CliError } from '../errors.ts';
import { askToLogIn } from '../supervisor/control-socket.ts';
import { findSupervisor } from '../supervisor/supervisor-lock.ts';
import type { Command } from './command.ts';

const MAX_NAME_LENGTH = 100;

/** `callboard login`: logs this terminal in to the Callboard on a data directory. */
export const login: Command = {
  name: 'login',
  summary: 'Logs this terminal in to the running Callboard, for the commands below.',
  flags: [dataDirFlag],
  run: async ({ given, platform }) => {
    const folder = parseGiven(z.object({ 'data-dir': dataDir(platform) }), given)['data-dir'];
    if ((await findSupervisor(folder)) === null) {
      const start = `npx callboard start${dataDirSuffix(folder, platform.home)}`;
      throw new CliError(`no Callboard runs on ${folder}. Start one: ${start}`);
    }
    const [{ saveLogin, loginFile, readLogin }, { revoke }] = await Promise.all([
      import('../terminal/login-file.ts'),
      import('../terminal/revoke.ts'),
    ]);
    const old = await readLogin(platform, folder);
    const name = `Terminal on ${platform.hostname}`.slice(0, MAX_NAME_LENGTH);
    const access = await askToLogIn(folder, name, loginFile(platform));
    await saveLogin(platform, { dataDir: folder, ...access });
    // The new login is kept by now, so a failure costs nothing but an entry in the list of logins.
    if (old !== null) await revoke(access.address, old.token).catch(() => undefined);
    platform.out(
      `Logged in to ${access.address} as "${name}". The token is in ${loginFile(platform)}; nobody else can read it.`,
    );
    platform.err('callboard: to end this login: npx callboard logout, or Revoke in the list of logins on the board.');
    return 0;
  },
};
