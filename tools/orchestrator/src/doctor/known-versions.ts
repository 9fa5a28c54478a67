import { z } from 'zod';
import { compatibilityChecks } from './promises.ts';
import type { HandshakeReport } from './report.ts';

/** The result of our own trial of one release, on Linux x64. */
export const KnownVersion = z.object({
  version: z.string(),
  /** The day of its publication. */
  date: z.iso.date(),
  /** Broken promises, by id, and why. */
  broken: z.record(z.string(), z.string()),
  /** Promises that could not be tried, by id, and why. */
  untried: z.record(z.string(), z.string()),
  /** What is missing because it lacks a flag, in words for people. */
  without: z.array(z.string()),
  /** Of the selected integration tests: how many passed, and the names of those that failed. Null: not run. */
  tests: z.object({ passed: z.int(), failed: z.array(z.string()) }).nullable(),
});
export type KnownVersion = z.infer<typeof KnownVersion>;

export const KnownVersions = z.object({
  /** The time of the trial. */
  at: z.iso.datetime(),
  promises: z.array(z.string()),
  versions: z.array(KnownVersion),
});
export type KnownVersions = z.infer<typeof KnownVersions>;

let known: Promise<KnownVersions> | undefined;

/** The releases that were tried before this Callboard was published. */
function readKnownVersions(): Promise<KnownVersions> {
  known ??= import('./known-versions.json', { with: { type: 'json' } }).then(({ default: list }) =>
    KnownVersions.parse(list),
  );
  return known;
}

/** What is known about a version without trying it, as a report; null if it was not tried with all promises. */
export async function knownReport(version: string): Promise<HandshakeReport | null> {
  const all = await readKnownVersions();
  const found = all.versions.find((one) => one.version === version);
  if (found === undefined || !coversAll(all.promises)) return null;
  const checks = compatibilityChecks.map(({ id, sentence, reliedOnFor, lack }) => {
    const [no, untried] = [found.broken[id], found.untried[id]];
    const verdict =
      no !== undefined ? ('no' as const) : untried !== undefined ? ('untried' as const) : ('yes' as const);
    return { id, sentence, reliedOnFor, lack, verdict, why: no ?? untried ?? null };
  });
  return { version, binary: null, at: all.at, checks };
}

/** Whether these include all current promises. A report of an older Callboard may lack some. */
export const coversAll = (ids: readonly string[]): boolean => compatibilityChecks.every(({ id }) => ids.includes(id));
