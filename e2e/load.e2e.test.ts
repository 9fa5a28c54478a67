import { expect, it } from 'vitest';
import { runLoad } from '../tools/lab/load/run-load.ts';
import type { Sample } from '../tools/lab/load/samples.ts';

/** `npm run load` sets these for a long run; the short one is part of the tests. */
const setting = (name: string, short: number): number => Number(process.env[`LOAD_${name}`] ?? short);

const megabytes = setting('MEGABYTES', 48);
const clients = setting('CLIENTS', 10);
const timeoutMs = setting('TIMEOUT_MS', 300_000);
/** Far more than any session prints; output that a busy machine cannot ingest at once waits in the spool. */
const megabytesPerSecond = setting('MEGABYTES_PER_SECOND', 4);

/** Allowed growth in memory or on the disk since the start, in MB. */
const MAX_GROWTH = 150;
/** Allowed disk space of the ingested part of the spool, in MB, however far a busy machine is behind. */
const MAX_SPOOL = 32;

it(`holds memory and spool flat while a session prints ${megabytes} MB`, { timeout: timeoutMs + 60_000 }, async () => {
  const result = await runLoad({ megabytes, megabytesPerSecond, clients, timeoutMs });
  const { samples, seconds, events, cutOff, wrong } = result;
  const warm = samples.find(({ printed }) => printed >= megabytes / 10) ?? samples[0];
  const last = samples.at(-1);
  if (warm === undefined || last === undefined) throw new Error('nothing was measured');
  const most = (part: keyof Sample) => Math.max(...samples.map((sample) => sample[part]));
  const row = (part: keyof Sample) => ({
    'at a tenth': Math.round(warm[part]),
    'at the end': Math.round(last[part]),
    most: Math.round(most(part)),
    'end / tenth': Number((last[part] / warm[part]).toFixed(2)),
  });
  console.table({
    'orchestrator, MB': row('orchestrator'),
    'web server, MB': row('web server'),
    'spool on disk, MB': row('spool'),
    'of it not taken in, MB': row('unread'),
    'printed, MB': row('printed'),
  });
  console.table({ seconds: Math.round(seconds), events, clients, 'slow clients cut off': cutOff, wrong: wrong.length });
  expect(wrong).toEqual([]);
  expect(cutOff).toBe(clients);
  expect(most('printed')).toBeGreaterThan(megabytes * 0.9);
  expect(most('orchestrator') - warm.orchestrator).toBeLessThan(MAX_GROWTH);
  expect(most('web server') - warm['web server']).toBeLessThan(MAX_GROWTH);
  expect(Math.max(...samples.map(({ spool, unread }) => spool - unread))).toBeLessThan(MAX_SPOOL);
});
