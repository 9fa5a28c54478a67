import { setTimeout as sleep } from 'node:timers/promises';
import { claudePids, partPid } from '../support/processes.ts';
import type { Random } from './random.ts';

/** Parts to kill, and connections to cut. */
export const VICTIMS = ['orchestrator', 'web server', 'supervisor', 'claude', 'web socket', 'connection'] as const;
export type Victim = (typeof VICTIMS)[number];

/** What the killer has to know about the running parts, and what it does in place of a person. */
export interface Target {
  /** The folder of the installation. */
  folder: string;
  /** The process that was started as `npm start` does; a new one after each restart. */
  startedPid: () => number;
  /** Starts Callboard again after its supervisor was killed. */
  startAgain: () => Promise<void>;
  cutConnection: () => boolean;
}

export interface KillOptions {
  victims: readonly [Victim, ...Victim[]];
  times: number;
  /** The longest pause between two kills. */
  pauseMs: number;
  random: Random;
  signal: AbortSignal;
}

/** Ends one part after the other by SIGKILL, at random moments, until it has done so often enough. Returns what it did. */
export async function kill(target: Target, options: KillOptions): Promise<Record<Victim, number>> {
  const { victims, times, pauseMs, random, signal } = options;
  const killed = Object.fromEntries(VICTIMS.map((victim) => [victim, 0])) as Record<Victim, number>;
  for (let total = 0; total < times; ) {
    await sleep(random.between(20, pauseMs), undefined, { signal });
    const victim = random.pick(victims);
    if (!(await strike(target, victim, random))) continue;
    killed[victim] += 1;
    total += 1;
  }
  return killed;
}

/** Returns false if there is nothing of the kind at the moment. */
async function strike(target: Target, victim: Victim, random: Random): Promise<boolean> {
  switch (victim) {
    case 'connection':
      return target.cutConnection();
    case 'web socket':
      return send(await partPid(target.startedPid(), 'web server'), 'SIGUSR2');
    case 'claude':
      return send(await anyClaude(target.folder, random), 'SIGKILL');
    case 'supervisor': {
      const isKilled = send(await partPid(target.startedPid(), 'supervisor'), 'SIGKILL');
      if (isKilled) await target.startAgain();
      return isKilled;
    }
    default:
      return send(await partPid(target.startedPid(), victim), 'SIGKILL');
  }
}

function send(pid: number | null, signal: NodeJS.Signals): boolean {
  if (pid === null) return false;
  try {
    return process.kill(pid, signal);
  } catch {
    return false; // it ended in between
  }
}

async function anyClaude(folder: string, random: Random): Promise<number | null> {
  const [first, ...others] = await claudePids(folder);
  return first === undefined ? null : random.pick([first, ...others]);
}
