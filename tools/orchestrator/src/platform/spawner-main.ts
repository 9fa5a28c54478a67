/**
 * The spawner of an orchestrator that has no supervisor: a small process that starts others. To start a process, the system copies the
 * page tables of its parent and blocks all threads of the parent meanwhile. Here they are small, and nobody waits
 * (docs/decisions/processes.md).
 */
import type { ToSpawner } from './child-processes.ts';
import { createProgramHost } from './program-host.ts';

const host = createProgramHost(
  (message) => process.send?.(message, undefined, {}, () => undefined),
  () => process.ppid === Number(process.argv[2]), // the close of the pipe is noticed too late
);
const end = () => void host.retire().then(() => process.exit());

process.on('message', (raw) => {
  const message = raw as ToSpawner; // from the same build
  host.receive(message);
  if (message.type === 'end') end();
});
process.on('disconnect', end);
// A Ctrl-C is meant for the orchestrator, which ends the spawner when it no longer needs it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
