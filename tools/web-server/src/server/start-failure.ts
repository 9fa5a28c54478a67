import type { FromServer, WebServerConfig } from '@callboard/contract';
import { z } from 'zod';

const SystemError = z.object({ code: z.string(), message: z.string() });

/** What the supervisor is told when the server cannot start. `fatal` where trying again will not help. */
export function startFailure(error: unknown, { host, port }: Pick<WebServerConfig, 'host' | 'port'>) {
  const parsed = SystemError.safeParse(error);
  switch (parsed.success ? parsed.data.code : '') {
    case 'EADDRINUSE':
      return failed('port_in_use', `Port ${port} on ${host} is in use by another program. ${OTHER_PORT}`, true);
    case 'EACCES':
      return failed('port_not_allowed', `Port ${port} may not be used by this user. ${OTHER_PORT}`, true);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return failed('bad_host', `${host} is not an address of this machine. Choose another with --host.`, true);
    default:
      return failed('start_failed', error instanceof Error ? error.message : String(error), false);
  }
}

const OTHER_PORT = 'Choose another with --port, or stop what uses it.';

/** The message that a server sends before it exits. */
export const failed = (code: string, message: string, fatal: boolean): FromServer => ({
  type: 'failed',
  code,
  message,
  fatal,
});
