import type { ChildProcess } from 'node:child_process';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import {
  type DetachedJob,
  detachHere,
  type FromSpawner,
  isOnSharedPipe,
  type Job,
  runHere,
  type ToSpawner,
} from './child-processes.ts';

/** Starts programs for an orchestrator in another process, which asks for them by messages. */
export interface ProgramHost {
  receive(message: ToSpawner): void;
  /**
   * Starts nothing from now on. Resolves when no job runs any longer: they finish, because the end of the orchestrator must not end git
   * in the middle of its work.
   */
  retire(): Promise<void>;
}

/**
 * @param notify sends a message to the orchestrator, which may be gone
 * @param isWanted whether the orchestrator still lives, as far as this process knows. The successor of a killed orchestrator looks for
 *   the processes of its predecessor and restarts what it does not find, so nothing may start after that look.
 */
export function createProgramHost(notify: (message: FromSpawner) => void, isWanted: () => boolean): ProgramHost {
  const running = new Map<number, AbortController>();
  const retired = Promise.withResolvers<void>();
  let isRetired = false;
  const mayStart = () => !isRetired && isWanted();

  async function run(id: number, job: Job): Promise<void> {
    const control = new AbortController();
    running.set(id, control);
    if (!mayStart()) control.abort();
    const ran = await runHere(job, control.signal);
    running.delete(id);
    notify({ type: 'ran', id, ran });
    settle();
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

  function settle(): void {
    if (isRetired && running.size === 0) retired.resolve();
  }

  function retire(): Promise<void> {
    isRetired = true;
    settle();
    return retired.promise;
  }

  return {
    retire,
    receive(message) {
      if (message.type === 'run') void run(message.id, message.job);
      if (message.type === 'detach') void detach(message.id, message.job);
      if (message.type === 'abort') running.get(message.id)?.abort();
      if (message.type !== 'end') return;
      for (const control of running.values()) control.abort();
      void retire().then(() => notify({ type: 'ended' }));
    },
  };
}

/**
 * Starts programs for a child of this process, which asks for them on their IPC pipe. None starts once the child's end is known, which is
 * before a successor starts; those that run go on, and keep this process until they have ended.
 * @returns a function that takes a message, and returns whether it was for it
 */
export function hostProgramsOf(child: ChildProcess): (raw: unknown) => boolean {
  const host = createProgramHost(
    (message) => void (child.connected && child.send({ type: 'spawner', message }, () => undefined)),
    () => child.exitCode === null && child.signalCode === null,
  );
  child.once('exit', () => void host.retire());
  return (raw) => {
    if (!isOnSharedPipe<ToSpawner>(raw)) return false;
    host.receive(raw.message);
    return true;
  };
}
