import { expect, it } from 'vitest';
import { VICTIMS, type Victim } from './chaos/killer.ts';
import { runChaos } from './chaos/run-chaos.ts';

/** `npm run chaos` sets these for a long run; the short one is part of the tests. */
const setting = (name: string, short: number): number => Number(process.env[`CHAOS_${name}`] ?? short);

/** The tests of a change try the same kills in each run; `npm run chaos` and `npm run test:all` try others each time. */
const SEED = 20_261_123;
const isFree = process.env.CALLBOARD_TEST_ALL === '1';
const seed = setting('SEED', isFree ? Math.floor(Math.random() * 1_000_000) : SEED);
const timeoutMs = setting('TIMEOUT_MS', 400_000);
const size = { stages: setting('STAGES', 2), messages: setting('MESSAGES', 4), kills: setting('KILLS', 8) };
const isEmulated = setting('EMULATOR', 0) === 1;

const [first, ...others] = VICTIMS.filter((victim) => victim !== 'claude');
const OURS: readonly [Victim, ...Victim[]] = [first ?? 'orchestrator', ...others];

it.each<[string, readonly [Victim, ...Victim[]]]>([
  ['Callboard’s own parts are killed and connections cut', OURS],
  ['claude is killed as well', VICTIMS],
])(`loses and doubles nothing while %s (seed ${seed})`, { timeout: timeoutMs + 60_000 }, async (_, victims) => {
  const begun = performance.now();
  const result = await runChaos({ seed, timeoutMs, victims, isEmulated, ...size });
  const { killed, lost, doubled, wrongEvents, ...counts } = result;
  console.table({
    ...Object.fromEntries(Object.entries(killed).map(([victim, times]) => [`${victim}: killed or cut`, times])),
    ...counts,
    lost: lost.length,
    doubled: doubled.length,
    'events missing, doubled or misplaced': wrongEvents.length,
    seconds: Math.round((performance.now() - begun) / 1_000),
  });
  expect({ lost, doubled, wrongEvents }).toEqual({ lost: [], doubled: [], wrongEvents: [] });
});
