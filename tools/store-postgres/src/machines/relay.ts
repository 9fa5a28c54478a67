import type { MachineId } from '@callboard/contract';
import { isStorageFailure } from '@callboard/orchestrator/storage-error';
import {
  type Logger,
  type MachineRecord,
  OperationalError,
  type Platform,
  Rejection,
  retryUntilStored,
  type Store,
  type StoredCommand,
} from '@callboard/orchestrator/store';
import { createEmitter, type Emitter } from '@callboard/runtime/emitter';
import { createReconciler } from '@callboard/runtime/reconciler';
import { settlesWithin } from '@callboard/runtime/settles-within';
import type { Lease } from './lease.ts';

/** What one machine has for another one. */
export type RelayedCommand = Pick<StoredCommand, 'machineId' | 'type' | 'fields' | 'actor' | 'login'>;

/** Carries commands between machines, through the store. */
export interface Relay {
  /**
   * Has the command executed by its machine, and resolves with the reply, as text. It is executed at most once.
   * @param limitMs how long the reply may take
   * @throws Rejection `unknown_machine`; OperationalError `machine_unreachable` if the machine did not take it, and never will;
   *   `no_confirmation` if it may have taken it and has not replied; `storage_failed` if it was not stored, so that nobody takes it
   */
  send(command: RelayedCommand, limitMs: number): Promise<string>;
  /** Has the command executed by all other connected machines, and waits for none. */
  relayToOthers(command: Omit<RelayedCommand, 'machineId'>): Promise<void>;
  /** Executes what others have for this machine, from now on. */
  serve(execute: (command: StoredCommand) => Promise<string>): void;
  stop(): Promise<void>;
}

export interface RelayDeps {
  store: Store;
  platform: Pick<Platform, 'newId' | 'uptimeMs'>;
  log: Logger;
  here: MachineId;
  lease: Pick<Lease, 'isHeld'>;
  times?: Partial<RelayTimes>;
}

interface RelayTimes {
  /** How long a machine may leave a command untouched. */
  takeMs: number;
  /** How often is looked for commands and replies, beside the store's hints. */
  checkIntervalMs: number;
}

/** A stop waits so long for what is executed: the lease is given back after that, before the process has to be gone. */
const STOP_MS = 2_000;
/** Rows that nobody waits for any more are kept for so long. */
const SAVED_MS = 10 * 60_000;

export function createRelay({ store, platform, log, here, lease, times = {} }: RelayDeps): Relay {
  const { takeMs = 5_000, checkIntervalMs = 1_000 } = times;
  /** It is time to look for replies. */
  const checked = createEmitter();
  const executing = new Set<Promise<void>>();
  const stopped = new AbortController();
  let execute: ((command: StoredCommand) => Promise<string>) | undefined;

  async function takeAll(): Promise<void> {
    const run = execute;
    if (run === undefined || !lease.isHeld() || !(await store.read.machineCommands.hasWaiting(here))) return;
    const taken = await store.transact((tx) => tx.machineCommands.take(here));
    for (const command of taken) {
      const work = answer(command, run).catch((error: unknown) =>
        log.error({ err: error, type: command.type }, 'the reply to another machine was not stored'),
      );
      executing.add(work);
      void work.finally(() => executing.delete(work));
    }
  }

  async function answer(command: StoredCommand, run: (command: StoredCommand) => Promise<string>): Promise<void> {
    const reply = await run(command);
    await retryUntilStored({ store, log, signal: stopped.signal }, (tx) =>
      tx.machineCommands.answer(command.id, reply),
    );
  }

  const worker = createReconciler(takeAll, (error) => log.warn({ err: error }, 'commands of other machines not read'));
  const check = () => {
    worker.schedule();
    checked.emit();
  };
  const timer = setInterval(check, checkIntervalMs).unref();
  const unlisten = store.onForeignCommit(check);

  async function insert(command: RelayedCommand, limitMs: number): Promise<string> {
    const id = platform.newId();
    await store.transact(async (tx) => {
      await tx.machineCommands.forget(SAVED_MS);
      await tx.machineCommands.insert({ id, ...command }, limitMs);
    });
    return id;
  }

  return {
    async send(command, limitMs) {
      const machine = await store.read.machines.find(command.machineId);
      if (machine === null) throw new Rejection('unknown_machine', 'No machine has this id.');
      if (!machine.isConnected) throw unreachable(machine);
      const id = await insert(command, Math.min(takeMs, limitMs));
      // From here on the machine may execute it: that the store is out of reach says nothing of that.
      const early = await untilReplied({ store, platform, checked }, id, Math.min(takeMs, limitMs));
      const withdraw = () => store.transact((tx) => tx.machineCommands.withdraw(id));
      if (early === null && (await unlessStorageFails(withdraw(), false))) throw unreachable(machine);
      const reply = early ?? (await untilReplied({ store, platform, checked }, id, Math.max(0, limitMs - takeMs)));
      if (reply === null) throw unanswered(machine, limitMs);
      const remove = store.transact((tx) => tx.machineCommands.remove(id), { sync: 'later' });
      await unlessStorageFails(remove, undefined); // it is forgotten later
      return reply;
    },
    async relayToOthers(command) {
      const others = (await store.read.machines.list()).filter(({ id, isConnected }) => id !== here && isConnected);
      for (const { id } of others) await insert({ ...command, machineId: id }, takeMs);
    },
    serve(run) {
      execute = run;
      worker.schedule();
    },
    async stop() {
      clearInterval(timer);
      unlisten();
      await worker.stop();
      await settlesWithin(Promise.all(executing), STOP_MS); // whoever waits hears that it was not confirmed
      stopped.abort();
    },
  };
}

/** What is asked of the store, or `otherwise` while that is out of reach or refuses this machine, which was declared lost. */
async function unlessStorageFails<T>(asked: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (!isStorageFailure(error)) throw error;
    return otherwise;
  }
}

/** Resolves with the reply to a command; null if there is none in time, or it cannot be read until then. */
async function untilReplied(
  { store, platform, checked }: Pick<RelayDeps, 'store' | 'platform'> & { checked: Emitter<void> },
  id: string,
  limitMs: number,
): Promise<string | null> {
  const end = platform.uptimeMs() + limitMs;
  for (;;) {
    const hint = Promise.withResolvers<void>();
    const unsubscribe = checked.subscribe(hint.resolve);
    try {
      const reply = await unlessStorageFails(store.read.machineCommands.findReply(id), null);
      if (reply !== null) return reply;
      if (platform.uptimeMs() >= end) return null;
      await hint.promise; // at the latest with the next look
    } finally {
      unsubscribe();
    }
  }
}

/** An error that names the machine and since when it does not answer. */
const unreachable = ({ name, seenAt }: Pick<MachineRecord, 'name' | 'seenAt'>): OperationalError =>
  new OperationalError(
    'machine_unreachable',
    `${name} has not responded since ${seenAt}, and this can only be done there. Nothing was changed. Its sessions may still be running. Try again later, or declare ${name} lost on the Machines page.`,
  );

const unanswered = ({ name }: Pick<MachineRecord, 'name'>, limitMs: number): OperationalError =>
  new OperationalError(
    'no_confirmation',
    `${name} has not replied within ${Math.round(limitMs / 1000)} s, and may have done this. Check the state before you try again.`,
  );
