import { shellQuote } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { dataDirSuffix } from './command-line/data-dir.ts';
import type { Platform } from './edges.ts';
import type { StartOptions } from './start-options.ts';
import { askForLink } from './supervisor/control-socket.ts';
import type { SupervisorRecord } from './supervisor/supervisor-lock.ts';

/** How long a Callboard that already runs may take to make a link. */
const LINK_MS = 5_000;

/** Returns the options for ports beside those of another Callboard. */
export function otherPorts({ port, orchestratorPort }: Pick<StartOptions, 'port' | 'orchestratorPort'>): string {
  const step = Math.max(port, orchestratorPort) < 65_000 ? 100 : -100;
  return `--port ${port === 0 ? 0 : port + step} --orchestrator-port ${orchestratorPort === 0 ? 0 : orchestratorPort + step}`;
}

/**
 * Returns what to tell a person who starts a Callboard on a folder that another one uses: that one's link, the command that
 * stops it, and the options for a second one. Never rejects.
 */
export async function explainRunning(
  { pid, port }: SupervisorRecord,
  options: StartOptions,
  { home }: Pick<Platform, 'home'>,
): Promise<string> {
  const { dataDir } = options;
  const link = await askForLink(dataDir, LINK_MS).catch((error: unknown) => `(${messageOf(error)})`);
  const other = `npx callboard start --data-dir ${shellQuote(`${dataDir}-2`)} ${otherPorts({ ...options, port: port || options.port })}`;
  return [
    `Callboard already runs on ${dataDir} (process ${pid}), so this one did not start.`,
    `  To open it:  ${link}`,
    `  To stop it:  kill ${pid}    (its sessions stay alive; to end those too: npx callboard down${dataDirSuffix(dataDir, home)})`,
    `  To run a second one beside it:  ${other}`,
  ].join('\n');
}
