import { shellQuote } from '@callboard/contract';
import { authority, isCallboard, loopbackHost } from './board-address.ts';
import { CliError, ServerStartError, UsageError } from './errors.ts';
import { otherPorts } from './explain-running.ts';
import type { StartOptions } from './start-options.ts';

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
