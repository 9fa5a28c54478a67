import { messageOf } from '@callboard/runtime/errors';
import { showBoard, wantsBrowser } from './browser.ts';
import type { Edges } from './edges.ts';
import type { StartOptions } from './start-options.ts';
import { runFolder } from './supervisor/control-socket.ts';
import type { Supervisor } from './supervisor/supervisor.ts';

export interface LoginLinksParts {
  readonly supervisor: Supervisor;
  readonly loginLink: string;
  readonly options: Pick<StartOptions, 'open' | 'dataDir'>;
  readonly stop: AbortSignal;
}

/**
 * Prints the login link, opens it in a browser if that is wanted, and prints another for each press of `l`.
 * @returns how to end this
 */
export async function offerLoginLinks({ supervisor, loginLink, options, stop }: LoginLinksParts, edges: Edges) {
  const { out, err } = edges;
  out(`Callboard ready: ${loginLink}`);
  const showing = wantsBrowser(options.open, edges)
    ? showBoard(
        { link: loginLink, folder: runFolder(options.dataDir), followed: supervisor.whenFollowed(loginLink), stop },
        edges,
      )
    : Promise.resolve();
  showing.catch((error: unknown) => err(`callboard: no browser could be opened: ${messageOf(error)}`));
  const printLink = () =>
    supervisor.createLink(stop).then(
      (link) => out(`Login link: ${link}`),
      (error: unknown) => stop.aborted || err(`callboard: ${messageOf(error)}`),
    );
  const stopListening = edges.listenForKeys((key) => {
    if (key === 'l') void printLink();
  });
  if (stopListening !== null) err('callboard: press l for another login link, Ctrl-C to stop.');
  return async () => {
    stopListening?.();
    await showing.catch(() => undefined);
  };
}
