import { z } from 'zod';

/** Whether one version of `claude` keeps one of the promises that Callboard is built on. */
export const HandshakeCheck = z.object({
  id: z.string(),
  /** What a version that keeps it does, to follow the version's name: "2.1.330 asks before it runs a tool". */
  sentence: z.string(),
  /** What would not work without it. */
  reliedOnFor: z.string(),
  verdict: z.enum(['yes', 'no', 'untried']),
  /** Why it is not a yes; null for a yes. */
  why: z.string().nullable(),
});
export type HandshakeCheck = z.infer<typeof HandshakeCheck>;

/** What came of a handshake with one version of `claude`. */
export const HandshakeReport = z.object({
  version: z.string().min(1),
  at: z.iso.datetime(),
  checks: z.array(HandshakeCheck),
});
export type HandshakeReport = z.infer<typeof HandshakeReport>;

/** The file `doctor.json` of a data directory: the newest report of each version, the newest of all first. */
export const DoctorFile = z.object({ reports: z.array(HandshakeReport) });
export type DoctorFile = z.infer<typeof DoctorFile>;

/** Whether every promise is known to hold. */
export const isWhole = ({ checks }: HandshakeReport): boolean => checks.every(({ verdict }) => verdict === 'yes');

/** What `now` does not do any more, against the newest report of an earlier version. */
export interface Regression {
  /** The earlier version. */
  since: string;
  lost: HandshakeCheck[];
}

/**
 * Compares with the last earlier version that was tried; null where there is none, or nothing was lost. What could not be
 * tried is not counted as lost: something that is, kept it from being tried.
 */
export function regressionOf(now: HandshakeReport, known: readonly HandshakeReport[]): Regression | null {
  const before = known
    .filter(({ version }) => compareVersions(version, now.version) < 0)
    .toSorted((a, b) => b.at.localeCompare(a.at))[0];
  if (before === undefined) return null;
  const held = new Set(before.checks.filter(({ verdict }) => verdict === 'yes').map(({ id }) => id));
  const lost = now.checks.filter(({ id, verdict }) => verdict === 'no' && held.has(id));
  return lost.length === 0 ? null : { since: before.version, lost };
}

/** Orders versions such as `2.1.330`; less than 0 when `a` is the earlier one. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [numbersOf(a), numbersOf(b)];
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

const numbersOf = (version: string) => (version.match(/\d+/g) ?? []).map(Number);
