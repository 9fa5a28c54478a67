import { expect, it } from 'vitest';
import type { Victim } from './chaos/killer.ts';
import { runChaos } from './chaos/run-chaos.ts';

/** `npm run chaos` sets these for a long run; the short one is part of the tests. */
const setting = (name: string, short: number): number => Number(process.env[`CHAOS_${name}`] ?? short);

const seed = setting('SEED', Math.floor(Math.random() * 1_000_000));
const timeoutMs = setting('TIMEOUT_MS', 150_000);
const size = { stages: setting('STAGES', 2), messages: setting('MESSAGES', 4), kills: setting('KILLS', 6) };

it.each<[string, readonly [Victim, ...Victim[]]]>([
  ['the servers', ['orchestrator', 'web server']],
  ['the servers and claude', ['orchestrator', 'web server', 'claude']],
])(
  `loses and doubles nothing while %s are killed (seed ${seed})`,
  { timeout: timeoutMs + 60_000 },
  async (_, victims) => {
    const result = await runChaos({ seed, timeoutMs, victims, ...size });
    console.log(
      Object.entries({
        ...result,
        killed: JSON.stringify(result.killed),
        lost: result.lost.length,
        doubled: result.doubled.length,
      })
        .map(([name, value]) => `  ${name.padEnd(10)} ${value}`)
        .join('\n'),
    );
    expect({ lost: result.lost, doubled: result.doubled }).toEqual({ lost: [], doubled: [] });
  },
);
