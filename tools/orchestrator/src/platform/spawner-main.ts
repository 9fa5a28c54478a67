/**
 * The spawner: a small process that starts others for the orchestrator. To start a process, the system copies the page tables
 * of its parent and blocks all threads of the parent meanwhile. Here they are small, and nobody waits (docs/decisions/processes.md).
 */
import { messageOf, systemCode } from '@callboard/runtime/errors';
import {
  type DetachedJob,
  detachHere,
  type FromSpawner,
  type Job,
  runHere,
  type ToSpawner,
} from './child-processes.ts';

const running = new Map<number, AbortController>();
let ends = false;

/**
 * Whether the orchestrator is still alive. The successor of a killed orchestrator looks for the processes of its predecessor
 * and restarts what it does not find, so nothing may start after the kill. The close of the pipe is noticed too late.
 */
const mayStart = () => !ends && process.ppid === Number(process.argv[2]);

function notify(message: FromSpawner): void {
  process.send?.(message, undefined, {}, () => undefined); // the orchestrator may be gone
}

async function run(id: number, job: Job): Promise<void> {
  const control = new AbortController();
  running.set(id, control);
  if (!mayStart()) control.abort();
  const ran = await runHere(job, control.signal);
  running.delete(id);
  notify({ type: 'ran', id, ran });
  endIfDone();
}

async function detach(id: number, job: DetachedJob): Promise<void> {
  try {
    const { identity, exit } = await detachHere(job, mayStart);
    notify({ type: 'detached', id, identity });
    void exit.then((how) => notify({ type: 'exited', id, exit: how }));
  } catch (error) {
    notify({ type: 'not-detached', id, message: messageOf(error), code: systemCode(error) ?? null });
  }
}

/** Running jobs finish first: killing the orchestrator must not kill git in the middle of its work. */
function endIfDone(): void {
  if (ends && running.size === 0) process.exit();
}

function end(): void {
  ends = true;
  endIfDone();
}

process.on('message', (raw) => {
  const message = raw as ToSpawner; // from the same build
  if (message.type === 'run') void run(message.id, message.job);
  if (message.type === 'detach') void detach(message.id, message.job);
  if (message.type === 'abort') running.get(message.id)?.abort();
  if (message.type !== 'end') return;
  for (const control of running.values()) control.abort();
  end();
});
process.on('disconnect', end);
// A Ctrl-C is meant for the orchestrator, which ends the spawner when it no longer needs it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
