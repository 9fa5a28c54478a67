/**
 * The spawner: a small process that starts others for the orchestrator. To start one, the system copies the page tables of the process
 * that asks, and holds up all its threads meanwhile. Here that is little, and nobody waits (docs/decisions/061).
 */
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { type DetachedJob, detachHere } from './detach-here.ts';
import { type Job, runHere } from './run-here.ts';
import type { FromSpawner, ToSpawner } from './spawner-messages.ts';

const running = new Map<number, AbortController>();
let ends = false;

/**
 * Whoever follows a killed orchestrator looks for what that had started, and starts again what it does not find: nothing may be started
 * after it. That the pipe was closed is heard too late.
 */
const mayStart = () => !ends && process.ppid === Number(process.argv[2]);

function tell(message: FromSpawner): void {
  process.send?.(message, undefined, {}, () => undefined); // nobody may hear it any more
}

async function run(id: number, job: Job): Promise<void> {
  const control = new AbortController();
  running.set(id, control);
  if (!mayStart()) control.abort();
  const ran = await runHere(job, control.signal);
  running.delete(id);
  tell({ type: 'ran', id, ran });
  endIfDone();
}

async function detach(id: number, job: DetachedJob): Promise<void> {
  try {
    const { identity, exit } = await detachHere(job, mayStart);
    tell({ type: 'detached', id, identity });
    void exit.then((how) => tell({ type: 'exited', id, exit: how }));
  } catch (error) {
    tell({ type: 'not-detached', id, message: messageOf(error), code: systemCode(error) ?? null });
  }
}

/** Whoever kills the orchestrator kills no git in the midst of its work: what runs comes to its end. */
function endIfDone(): void {
  if (ends && running.size === 0) process.exit();
}

function end(): void {
  ends = true;
  endIfDone();
}

process.on('message', (raw) => {
  const message = raw as ToSpawner; // of our own build
  if (message.type === 'run') void run(message.id, message.job);
  if (message.type === 'detach') void detach(message.id, message.job);
  if (message.type === 'abort') running.get(message.id)?.abort();
  if (message.type !== 'end') return;
  for (const control of running.values()) control.abort();
  end();
});
process.on('disconnect', end);
// A Ctrl-C is for the orchestrator, which ends us when it needs us no more.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
