import { expect } from 'vitest';
import { ALL } from '../../../test-support/variants.ts';
import type { Victims } from './killer.ts';
import { type ChaosOptions, runChaos } from './run-chaos.ts';

/** `npm run chaos` sets these for a long run; the short one is part of the tests. */
const setting = (name: string, short: number): number => Number(process.env[`CHAOS_${name}`] ?? short);

/** The tests of a change try the same kills in each run; `npm run chaos` and `npm run test:all` try others each time. */
const SEED = 20_261_123;

export const FIXED_SEED = setting('SEED', ALL ? Math.floor(Math.random() * 1_000_000) : SEED);

/** How much is done in the short run. */
export interface Short {
  stages: number;
  messages: number;
  kills: number;
  timeoutMs: number;
  outageMs: number;
}

/** The limit of a test, with time to clean up. */
export const testTimeoutMs = (short: Short): number => setting('TIMEOUT_MS', short.timeoutMs) + 60_000;

/** Runs the chaos, prints what happened, and fails if anything was lost, doubled or left. */
export async function prove(
  given: { seed: number; victims: Victims } & Pick<ChaosOptions, 'sharedBy'>,
  short: Short,
): Promise<void> {
  const begun = performance.now();
  const result = await runChaos({
    ...given,
    stages: setting('STAGES', short.stages),
    messages: setting('MESSAGES', short.messages),
    kills: setting('KILLS', short.kills),
    timeoutMs: setting('TIMEOUT_MS', short.timeoutMs),
    outageMs: setting('OUTAGE_MS', short.outageMs),
    isEmulated: setting('EMULATOR', 0) === 1,
  });
  const { killed, lost, doubled, wrongEvents, unheard, left, ...counts } = result;
  console.table({
    seed: given.seed,
    ...Object.fromEntries(Object.entries(killed).map(([victim, times]) => [`${victim}: killed or cut`, times])),
    ...counts,
    lost: lost.length,
    doubled: doubled.length,
    'events missing, doubled or misplaced': wrongEvents.length,
    'machines whose live text does not arrive': unheard.length,
    'left behind': left.length,
    seconds: Math.round((performance.now() - begun) / 1_000),
  });
  const wrong = { lost, doubled, wrongEvents, unheard, left };
  expect(wrong).toEqual({ lost: [], doubled: [], wrongEvents: [], unheard: [], left: [] });
}
