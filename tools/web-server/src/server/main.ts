/** The entry point of the web server's process. */

import { CertificateError } from '@callboard/runtime/certificate';
import { logLevel } from '@callboard/runtime/environment';
import { systemCode } from '@callboard/runtime/errors';
import { runSupervised } from '@callboard/runtime/supervised-server';
import { type StartFailure, WebServerConfig } from '@callboard/runtime/supervision';
import { pino } from 'pino';
import { createLog, startWebServer } from './app.ts';

/** How long to wait for the orchestrator before reporting ready; it is usually up by then. */
const ORCHESTRATOR_MS = 10_000;

const log = createLog({ level: logLevel(process.env) }, pino.destination({ fd: 2, sync: true }));
const orchestratorAt = Promise.withResolvers<string>();

const notify = runSupervised({
  name: 'web server',
  Config: WebServerConfig,
  start,
  explainFailure: explainListenFailure,
  onMessage: (message) => {
    if (message.type === 'orchestrator-at') orchestratorAt.resolve(message.url);
  },
  log,
});

async function start({ host, port, exposure, orchestrator: { url, secret } }: WebServerConfig) {
  if (url !== null) orchestratorAt.resolve(url);
  const server = await startWebServer(
    { host, port, exposure, orchestrator: { url: orchestratorAt.promise, secret } },
    log,
    { onNotice: (text) => void notify({ type: 'notice', text }) },
  );
  const whenReady = async () => {
    await orchestratorAt.promise;
    // Whoever hears `ready` may send commands at once. If the orchestrator takes longer than this, their requests wait for it.
    await server.whenReached(AbortSignal.timeout(ORCHESTRATOR_MS)).catch(() => undefined);
  };
  return { port: server.port, stop: server.stop, whenReady };
}

function explainListenFailure(error: unknown, { host, port }: WebServerConfig): StartFailure | null {
  if (error instanceof CertificateError) return fatal('bad_certificate', error.message);
  switch (systemCode(error)) {
    case 'EADDRINUSE':
      return fatal('port_in_use', `Port ${port} on ${host} is in use by another program. ${OTHER_PORT}`);
    case 'EACCES':
      return fatal('port_not_allowed', `This user may not use port ${port}. ${OTHER_PORT}`);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return fatal('bad_host', `${host} is not an address of this machine. Choose another with --host.`);
    default:
      return null;
  }
}

const OTHER_PORT = 'Choose another with --port, or stop what uses it.';

const fatal = (code: string, message: string): StartFailure => ({ code, message, fatal: true });
