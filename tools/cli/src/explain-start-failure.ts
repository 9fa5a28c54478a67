import { shellQuote } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { dataDirSuffix } from './command-line/flags.ts';
import { authority, isCallboard, loopbackHost, type StartOptions } from './command-line/start-options.ts';
import { CliError, ServerStartError, UsageError } from './errors.ts';
import type { Platform } from './platform.ts';
import { askForLink, type SupervisorRecord } from './supervisor/control-socket.ts';

/** Returns an error that tells the person who started Callboard why a server cannot start; any other error as it is. */
export async function explainStartFailure(error: unknown, options: StartOptions): Promise<unknown> {
  if (!(error instanceof ServerStartError)) return error;
  switch (error.code) {
    case 'not_a_repository':
    case 'no_commits':
      return new UsageError(`--repo: ${error.reason}`);
    case 'agent_user_unsupported':
      return new UsageError(error.reason);
    case 'port_in_use':
      return new CliError(await explainPortInUse(error.reason, options));
    case 'data_dir_in_use':
    case 'data_dir_unwritable':
    case 'store_elsewhere':
    case 'storage_failed':
    case 'database_newer':
    case 'database_damaged':
    case 'port_not_allowed':
    case 'bad_host':
    case 'bad_certificate':
      return new CliError(error.reason);
    default:
      return new CliError(`${error.message}\ncallboard: \`npx callboard doctor\` looks for causes.`);
  }
}

/** If another Callboard has the port, names it and suggests both ports for this one. */
async function explainPortInUse(reason: string, options: StartOptions): Promise<string> {
  const { host, port, dataDir } = options;
  const beside = `npx callboard start --data-dir ${shellQuote(dataDir)} ${otherPorts(options)}`;
  if (port === 0 || !(await isCallboard(host, port))) return `${reason}\n  On other ports:  ${beside}`;
  return [
    `another Callboard, on another data directory, has port ${port}, so this one did not start.`,
    `  To open it:  http://${authority(loopbackHost(host), port)}`,
    '  To stop it:  press Ctrl-C in its terminal',
    `  To run this one beside it:  ${beside}`,
  ].join('\n');
}

/** How long a Callboard that already runs may take to make a link. */
const LINK_MS = 5_000;

/** Returns the options for ports beside those of another Callboard. */
function otherPorts({ port, orchestratorPort }: Pick<StartOptions, 'port' | 'orchestratorPort'>): string {
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
