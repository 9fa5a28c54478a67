import { messageOf } from '@callboard/runtime/errors';
import { showBoard, wantsBrowser } from './browser.ts';
import type { Platform } from './edges.ts';
import type { StartOptions } from './start-options.ts';
import { runFolder } from './supervisor/control-socket.ts';
import type { Supervisor } from './supervisor/supervisor.ts';

export interface LoginLinksDeps {
  readonly supervisor: Supervisor;
  readonly loginLink: string;
  readonly options: Pick<StartOptions, 'open' | 'dataDir'>;
  readonly stop: AbortSignal;
}

/**
 * Prints the login link, opens it in a browser if that is wanted, and prints another for each press of `l`.
 * @returns how to end this
 */
export async function offerLoginLinks({ supervisor, loginLink, options, stop }: LoginLinksDeps, platform: Platform) {
  const { out, err } = platform;
  out(`Callboard ready: ${loginLink}`);
  const showing = wantsBrowser(options.open, platform)
    ? showBoard(
        { link: loginLink, folder: runFolder(options.dataDir), followed: supervisor.whenFollowed(loginLink), stop },
        platform,
      )
    : Promise.resolve();
  showing.catch((error: unknown) => err(`callboard: no browser could be opened: ${messageOf(error)}`));
  const printLink = () =>
    supervisor.createLink(stop).then(
      (link) => out(`Login link: ${link}`),
      (error: unknown) => stop.aborted || err(`callboard: ${messageOf(error)}`),
    );
  const stopListening = platform.listenForKeys((key) => {
    if (key === 'l') void printLink();
  });
  if (stopListening !== null) err('callboard: press l for another login link, Ctrl-C to stop.');
  return async () => {
    stopListening?.();
    await showing.catch(() => undefined);
  };
}
