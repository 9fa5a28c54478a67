import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { uptime } from 'node:os';
import { dirname } from 'node:path';
import type { MachineId } from '@callboard/contract';
import { isStorageFailure } from '@callboard/orchestrator/storage-error';
import {
  type LeaseTimes,
  type Logger,
  type MachineReport,
  OperationalError,
  type Platform,
  type Store,
} from '@callboard/orchestrator/store';
import { createEmitter } from '@callboard/runtime/emitter';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { bootId } from '@callboard/runtime/process-identity';
import { createReconciler } from '@callboard/runtime/reconciler';
import { settlesWithin } from '@callboard/runtime/settles-within';
import { z } from 'zod';

/** This machine's right to act for its stages. */
export interface Lease {
  /**
   * Whether it certainly runs: no other machine can count this one as unreachable. Decided by this machine's own clocks, and
   * earlier than the store does.
   */
  isHeld(): boolean;
  /** @throws OperationalError `lease_lost` unless it is held */
  requireDelayed(): void;
  /** Calls the listener when the lease was renewed after it had run out. Returns a function that unsubscribes. */
  onRegained(listener: () => void): () => void;
  /** Renews it now, with what the machine reports now. */
  renew(): Promise<void>;
  /** Renews it in this time, or sooner. */
  renewIn(ms: number): void;
  /** Gives it back, so that the others need not wait for its end. */
  stop(): Promise<void>;
}

export interface LeaseDeps {
  store: Store;
  platform: Pick<Platform, 'now' | 'uptimeMs'>;
  log: Logger;
  id: MachineId;
  epoch: number;
  /** What the machine says of itself. */
  report: () => Promise<MachineReport>;
  times: LeaseTimes;
  /** The epoch has ended: somebody declared this machine lost, or another process took its place. Called once. */
  onEnded: () => void;
  /** It was renewed. */
  onRenewed?: (() => void) | undefined;
}

/** A stop waits so long for a renewal. */
const STOP_MS = 2_000;
/** A report reads some rows. */
const SLOW_MS = 3_000;

/**
 * Renews the lease of this machine's epoch. Of the monotonic clock and the time of day, the one counts by which more time has
 * passed: the first stands still while a machine sleeps, and somebody may set the second.
 */
export function createLease(deps: LeaseDeps): Lease {
  const { store, platform, log, id, epoch, report, times, onEnded, onRenewed } = deps;
  const regained = createEmitter();
  const marks = () => ({ uptimeMs: platform.uptimeMs(), timeMs: platform.now().getTime() });
  let renewed = marks();
  let hasEnded = false;
  let stopped = false;

  const elapsedMs = (): number => {
    const now = marks();
    return Math.max(now.uptimeMs - renewed.uptimeMs, now.timeMs - renewed.timeMs);
  };
  const isHeld = () => !hasEnded && elapsedMs() < times.leaseMs - times.marginMs;

  /** A board where nobody does anything hears of a store that is out of reach by a write: one is tried if the report cannot be made, or takes long. */
  async function reportOrProbe(): Promise<MachineReport> {
    const slow = setTimeout(() => void store.probe().catch(() => undefined), SLOW_MS).unref();
    try {
      return await report().finally(() => clearTimeout(slow));
    } catch (error) {
      if (isStorageFailure(error)) await store.probe();
      throw error;
    }
  }

  async function renewOnce(): Promise<void> {
    const reported = await reportOrProbe();
    const sent = marks(); // before the request: the store's lease begins later
    const isRenewed = await store.transact((tx) => tx.machines.renew({ id, epoch, leaseMs: times.leaseMs }, reported), {
      sync: 'later',
    });
    if (stopped || hasEnded) return;
    if (!isRenewed) return end();
    const wasHeld = isHeld();
    renewed = sent;
    onRenewed?.();
    if (!wasHeld && isHeld()) regained.emit();
  }

  function end(): void {
    if (hasEnded) return;
    hasEnded = true;
    log.error({ machineId: id, epoch }, 'the epoch of this machine has ended');
    onEnded();
  }

  const renewals = createReconciler(
    renewOnce,
    (error) => {
      if (error instanceof OperationalError && error.code === 'lease_lost') end();
      else log.warn({ err: error }, 'the lease was not renewed');
    },
    { everyMs: times.renewMs },
  );
  return {
    isHeld,
    requireDelayed() {
      if (isHeld()) return;
      throw new OperationalError('lease_lost', hasEnded ? ENDED : RUN_OUT);
    },
    onRegained: regained.subscribe,
    renew() {
      renewals.schedule();
      return renewals.drain();
    },
    renewIn: renewals.scheduleIn,
    async stop() {
      stopped = true;
      // A commit that the network has cut stays open until the database answers.
      await settlesWithin(renewals.stop(), STOP_MS);
      if (hasEnded) return;
      await store
        .transact((tx) => tx.machines.release(id, epoch))
        .catch((error: unknown) => log.warn({ err: error }, 'the lease was not given back'));
    },
  };
}

const RUN_OUT =
  'This machine could not renew its lease, so it gives Claude nothing until it has. Its sessions go on. Check its connection to the database.';
const ENDED =
  'This machine was declared lost, so it changes nothing more under its old epoch. It starts again with a new one.';

/** Counts since the machine was started, through sleep as well; nobody can set it. */
export interface BootClock {
  upMs(): number;
  bootId(): Promise<string | null>;
}

export interface CutOffDeps {
  /** Where the last renewal is kept. */
  file: string;
  log: Logger;
  /** Ends all sessions, without the store. Resolves with those that could not be ended. @param reason in words, for the transcript */
  end: (reason: string) => Promise<readonly string[]>;
  /** How long the machine may be without the store before its sessions are ended. */
  afterMs: number;
  clock?: BootClock;
}

/** Ends the sessions of a machine that has not reached its shared store for long, so that others may declare it lost unasked. */
export interface CutOff {
  /** The lease was renewed just now. */
  renewed(): void;
  stop(): Promise<void>;
}

const CLOCK: BootClock = { upMs: () => uptime() * 1_000, bootId };

const Renewal = z.object({ bootId: z.string().nullable(), upMs: z.number() });
type Renewal = z.infer<typeof Renewal>;

/**
 * Begins when the lease was just taken. The file of the last renewal lets the next process of this machine count on.
 * @param checkIntervalMs how often it looks
 */
export function startCutOff({ checkIntervalMs, ...parts }: CutOffDeps & { checkIntervalMs: number }): CutOff {
  const { log, afterMs, clock = CLOCK } = parts;
  let renewedMs = clock.upMs();
  const file = createReconciler(
    async () => saveRenewal(parts.file, { bootId: await clock.bootId(), upMs: renewedMs }),
    (error) => log.warn({ err: error }, 'the renewal of the lease was not noted'),
  );
  const ends = createReconciler(
    async () => {
      if (clock.upMs() - renewedMs >= afterMs) await endSessions(parts);
    },
    (error) => log.error({ err: error }, 'ending the sessions of a machine that is cut off failed'),
    { everyMs: checkIntervalMs },
  );
  file.schedule();
  return {
    renewed() {
      renewedMs = clock.upMs();
      file.schedule();
    },
    async stop() {
      await Promise.all([file.stop(), ends.stop()]);
    },
  };
}

/**
 * Ends the sessions of a machine whose orchestrator cannot start without the store, if the lease was not renewed for that long.
 * Called again, it ends what is still there.
 */
export async function endIfCutOff(deps: CutOffDeps): Promise<void> {
  const { file, log, afterMs, clock = CLOCK } = deps;
  const last = await lastRenewal(file).catch((error: unknown) => {
    log.warn({ reason: messageOf(error) }, 'the last renewal of the lease cannot be read');
    return null;
  });
  // Processes do not outlive the machine's own end.
  if (last === null || last.bootId !== (await clock.bootId())) return;
  if (clock.upMs() - last.upMs >= afterMs) await endSessions(deps);
}

async function endSessions({ end, log, afterMs }: CutOffDeps): Promise<void> {
  const minutes = Math.max(1, Math.round(afterMs / 60_000));
  const reason = `Callboard ended it: this machine had not reached the database for ${count(minutes, 'minute')}, so its stages may be started elsewhere.`;
  const failed = await end(reason);
  if (failed.length > 0) log.error({ failed }, 'sessions of a machine that is cut off could not be ended');
}

const count = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`;

/** Null: there is none yet. @throws a system error, a SyntaxError or a ZodError */
async function lastRenewal(file: string): Promise<Renewal | null> {
  try {
    return Renewal.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Never leaves half a file. */
async function saveRenewal(file: string, renewal: Renewal): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(`${file}.new`, JSON.stringify(renewal));
  await rename(`${file}.new`, file);
}
