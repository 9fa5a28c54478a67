import { setTimeout as sleep } from 'node:timers/promises';
import type { Transport } from '@callboard/contract/client';
import { claudePids, partPid } from '../../../e2e/support/processes.ts';
import { type Losses, loseMachine, outliveLease } from './beyond-lease.ts';
import type { Link, Machine } from './machine.ts';
import { type Database, startAgain } from './place.ts';
import type { Random } from './random.ts';

/** Parts of a machine to kill, and connections to cut. */
export const VICTIMS = ['orchestrator', 'web server', 'supervisor', 'claude', 'web socket', 'connection'] as const;
/** What there is with a shared store as well. A database link is that of one machine, a machine link that of the others to it. */
export const SHARED_VICTIMS = ['database', 'database connection', 'database link', 'machine link'] as const;
/** A machine's link to the database, cut for longer than its lease; with the second, people declare the machine lost meanwhile. */
export const LEASE_VICTIMS = ['machine cut off', 'machine lost'] as const;
/** The server of the database is switched off, and its standby takes over. */
export const STANDBY_VICTIMS = ['database fails over'] as const;
export type Victim = (typeof VICTIMS | typeof SHARED_VICTIMS | typeof LEASE_VICTIMS | typeof STANDBY_VICTIMS)[number];
export type Victims = readonly [Victim, ...Victim[]];

/** What the killer strikes at. */
export interface Target {
  machines: readonly [Machine, ...Machine[]];
  database: Database | null;
  cutConnection: () => boolean;
  /** To any web server, and to that of each machine. */
  transport: Transport;
  each: readonly Transport[];
  /** Called when a machine's web server is somewhere else. */
  onMoved: () => void;
}

export interface KillOptions {
  victims: Victims;
  /** Notes which stages were taken from lost machines. */
  losses: Losses;
  times: number;
  /** The longest pause between two kills. */
  pauseMs: number;
  /** For how long the database or the link to it is away at most; mostly it is much less. */
  outageMs: number;
  random: Random;
  signal: AbortSignal;
}

/** How often each was struck. */
export type Killed = Partial<Record<Victim, number>>;

/**
 * Ends one part after the other by SIGKILL, at random moments, until it has done so often enough: each of them once, in any order, before
 * one comes again. Meanwhile, links and the database are away for a time. Resolves with what it did when everything is there again.
 */
export async function kill(target: Target, options: KillOptions): Promise<Killed> {
  const { victims, times, pauseMs, random, signal } = options;
  const killed: Killed = Object.fromEntries(victims.map((victim) => [victim, 0]));
  const outages = createOutages(options);
  try {
    let due: Victim[] = [];
    for (let total = 0; total < times; ) {
      await sleep(random.between(20, pauseMs), undefined, { signal });
      if (due.length === 0) due = [...victims];
      const victim = due.splice(random.between(0, due.length - 1), 1)[0] ?? victims[0];
      if (!(await strike(target, victim, outages, options))) {
        if (isBeyondLease(victim)) due.push(victim); // there are few of them, and one at a time
        continue;
      }
      killed[victim] = (killed[victim] ?? 0) + 1;
      total += 1;
    }
  } finally {
    await outages.end();
  }
  return killed;
}

/** Things that are away for a time, and come back by themselves. */
interface Outages {
  /** Takes something away for a random time; returns false if it is away already. */
  begin(what: object, removeAway: () => void | Promise<void>, restart: () => void | Promise<void>): Promise<boolean>;
  /** Cuts a link until `live` is over; returns false if it is away already, or if another one is away for so long. */
  beginLong(link: Link, how: Cut, live: () => Promise<void>): boolean;
  /** Resolves when everything is back. @throws what could not be brought back */
  end(): Promise<void>;
}

type Cut = Parameters<Link['block']>[0];

function createOutages({ random, outageMs, signal }: KillOptions): Outages {
  const away = new Map<object, Promise<void>>();
  const failures: unknown[] = [];
  let isLongAway = false;
  const keepApart = (what: object, coming: Promise<void>) => {
    const back = coming.catch((error: unknown) => void failures.push(error)).finally(() => away.delete(what));
    away.set(what, back);
  };
  return {
    async begin(what, removeAway, restart) {
      if (away.has(what)) return false;
      const ms = 50 + random.next() ** 3 * outageMs;
      await removeAway();
      const timeUp = sleep(ms, undefined, { signal }).catch(() => undefined); // the time is up: everything comes back
      keepApart(what, timeUp.then(restart));
      return true;
    },
    beginLong(link, how, live) {
      if (isLongAway || away.has(link)) return false;
      isLongAway = true;
      link.block(how);
      const over = live().finally(() => {
        link.unblock();
        isLongAway = false;
      });
      keepApart(link, over);
      return true;
    },
    async end() {
      await Promise.all(away.values());
      if (failures.length > 0) throw failures[0];
    },
  };
}

/** Returns false if there is nothing of the kind at the moment. */
async function strike(target: Target, victim: Victim, outages: Outages, options: KillOptions): Promise<boolean> {
  const { random, signal } = options;
  const { database } = target;
  const machine = random.pick(target.machines);
  const { link } = machine;
  if (isBeyondLease(victim))
    return link !== null && cutBeyondLease(target, { machine, link, victim }, outages, options);
  switch (victim) {
    case 'connection':
      return target.cutConnection();
    case 'web socket':
      return send(await partPid(machine.startedPid(), 'web server'), 'SIGUSR2');
    case 'claude':
      return send(await anyClaude(machine.installation.folder, random), 'SIGKILL');
    case 'supervisor': {
      const isKilled = send(await partPid(machine.startedPid(), 'supervisor'), 'SIGKILL');
      if (isKilled) await startAgain(machine, signal);
      if (isKilled) target.onMoved();
      return isKilled;
    }
    case 'database':
      return database !== null && outages.begin(database, () => database.stop('immediate'), database.start);
    case 'database fails over': {
      const failOver = database?.failOver ?? null;
      return (
        database !== null && failOver !== null && outages.begin(database, database.switchOff, () => failOver(signal))
      );
    }
    case 'database connection':
      return link?.cutOne() ?? false;
    case 'database link': {
      const how = random.pick(CUTS);
      return link !== null && outages.begin(link, () => link.block(how), link.unblock);
    }
    case 'machine link': {
      const { peers } = machine;
      const how = random.pick(['refuse', 'swallow'] as const);
      return peers !== null && outages.begin(peers, () => peers.block(how), peers.unblock);
    }
    default:
      return send(await partPid(machine.startedPid(), victim), 'SIGKILL');
  }
}

const CUTS: readonly [Cut, ...Cut[]] = ['refuse', 'swallow', 'drop'];

type LeaseVictim = (typeof LEASE_VICTIMS)[number];

function isBeyondLease(victim: Victim): victim is LeaseVictim {
  return LEASE_VICTIMS.some((one) => one === victim);
}

function cutBeyondLease(
  { machines, transport, each }: Target,
  { machine, link, victim }: { machine: Machine; link: Link; victim: LeaseVictim },
  outages: Outages,
  { losses, random, signal }: KillOptions,
): boolean {
  const at = machines.indexOf(machine);
  const own = each[at] ?? transport;
  // Connections that are kept alive may all lead to the web server of the machine that is cut off, which cannot read the store: nothing
  // would ever be seen through them.
  const seen = each[(at + 1) % machines.length] ?? transport;
  const live = victim === 'machine lost' ? loseMachine : outliveLease;
  return outages.beginLong(link, random.pick(CUTS), () =>
    live({ machine, link, transport: seen, own, losses, random, signal }),
  );
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
