import { z } from 'zod';
import { dataDir, dataDirFlag, dataDirSuffix, parseGiven } from '../command-line/flags.ts';
import { CliError } from '../errors.ts';
import { printQrCode } from '../login-links.ts';
import { askForLink, askToLogIn, findSupervisor } from '../supervisor/control-socket.ts';
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
      import('../terminal/api-client.ts'),
      import('../terminal/api-client.ts'),
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

/** `callboard logout`: ends the login of this terminal. */
export const logout: Command = {
  name: 'logout',
  summary: 'Ends the login of this terminal.',
  flags: [dataDirFlag],
  run: async ({ given, platform }) => {
    const folder = parseGiven(z.object({ 'data-dir': dataDir(platform) }), given)['data-dir'];
    const [{ explained, findAddress }, { forgetLogin, readLogin }, { revoke }] = await Promise.all([
      import('../terminal/api-client.ts'),
      import('../terminal/api-client.ts'),
      import('../terminal/api-client.ts'),
    ]);
    const login = await readLogin(platform, folder);
    if (login === null) throw new CliError(`this terminal is not logged in to the Callboard on ${folder}.`);
    await explained(async () => revoke(await findAddress(login, platform), login.token));
    await forgetLogin(platform, folder);
    platform.out('Logged out.');
    return 0;
  },
};

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
    const newLink = await askForLink(folder);
    platform.out(newLink);
    printQrCode(newLink, platform);
    return 0;
  },
};
