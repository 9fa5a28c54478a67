import { z } from 'zod';
import { compareVersions } from '../lib/versions.ts';

/** Whether one version of `claude` keeps one of the promises that Callboard is built on. */
export const HandshakeCheck = z.object({
  id: z.string(),
  /** What a version that keeps it does, to follow the version's name: "2.1.330 asks before it runs a tool". */
  sentence: z.string(),
  /** What would not work without it. */
  reliedOnFor: z.string(),
  /** What people see of it where it does not hold, in a few words. */
  lack: z.string().default(''),
  verdict: z.enum(['yes', 'no', 'untried']),
  /** Why it is not a yes; null for a yes. */
  why: z.string().nullable(),
});
export type HandshakeCheck = z.infer<typeof HandshakeCheck>;

/** One build of the program, told from the next without running it. */
const Binary = z.object({ path: z.string(), mtimeMs: z.number(), size: z.number() });

/** What came of a handshake with one version of `claude`. */
export const HandshakeReport = z.object({
  version: z.string().min(1),
  /** The file that was tried; null for a report of before this was kept, or for one that came with Callboard. */
  binary: Binary.nullable().default(null),
  at: z.iso.datetime(),
  checks: z.array(HandshakeCheck),
});
export type HandshakeReport = z.infer<typeof HandshakeReport>;

/** What a program said of itself, so that it need not be asked at each start of Callboard. */
export const KnownProgram = z.object({
  binary: Binary,
  version: z.string().nullable(),
  complaint: z.string().nullable(),
  flags: z.array(z.string()).nullable(),
});
export type KnownProgram = z.infer<typeof KnownProgram>;

/** The file `doctor.json` of a data directory: the newest report of each version and file, the newest of all first. */
export const DoctorFile = z.object({
  reports: z.array(HandshakeReport),
  programs: z.array(KnownProgram).default([]),
});
export type DoctorFile = z.infer<typeof DoctorFile>;

/** Whether every promise is known to hold. */
export const isWhole = ({ checks }: HandshakeReport): boolean => checks.every(({ verdict }) => verdict === 'yes');

/** What does not hold, as people see it; what could not be tried for want of another promise is not listed beside that. */
export const lacksOf = ({ checks }: HandshakeReport): string[] =>
  checks.flatMap(({ verdict, lack, sentence }) => (verdict === 'no' ? [lack || `does not do this: ${sentence}`] : []));

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
