import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { uptime } from 'node:os';
import { dirname } from 'node:path';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { bootId } from '@callboard/runtime/process-identity';
import { z } from 'zod';
import type { Logger } from '../lib/logger.ts';
import { createCoalescingWorker } from '../lib/nudged-worker.ts';

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
  const file = createCoalescingWorker(
    async () => saveRenewal(parts.file, { bootId: await clock.bootId(), upMs: renewedMs }),
    (error) => log.warn({ err: error }, 'the renewal of the lease was not noted'),
  );
  const ends = createCoalescingWorker(
    async () => {
      if (clock.upMs() - renewedMs >= afterMs) await endSessions(parts);
    },
    (error) => log.error({ err: error }, 'ending the sessions of a machine that is cut off failed'),
  );
  const timer = setInterval(ends.schedule, checkIntervalMs).unref();
  file.schedule();
  return {
    renewed() {
      renewedMs = clock.upMs();
      file.schedule();
    },
    async stop() {
      clearInterval(timer);
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
