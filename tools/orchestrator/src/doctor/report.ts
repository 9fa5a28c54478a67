import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { systemCode } from '@callboard/runtime/errors';
import { z } from 'zod';
import { compareVersions } from '../lib/text.ts';

/** Whether one version of `claude` keeps one of the promises that Callboard relies on. */
export const HandshakeCheck = z.object({
  id: z.string(),
  /** What a version that keeps it does; follows the version's name: "2.1.330 asks before it runs a tool". */
  sentence: z.string(),
  /** What would not work without it. */
  reliedOnFor: z.string(),
  /** What people notice when it is not kept, in a few words. */
  lack: z.string().default(''),
  verdict: z.enum(['yes', 'no', 'untried']),
  /** Why the verdict is not `yes`; null if it is. */
  why: z.string().nullable(),
});
export type HandshakeCheck = z.infer<typeof HandshakeCheck>;

/** Tells one build of the program from another without running it. */
const Binary = z.object({ path: z.string(), mtimeMs: z.number(), size: z.number() });

/** The result of a handshake with one version of `claude`. */
export const HandshakeReport = z.object({
  version: z.string().min(1),
  /** The file that was tried; null for an old report, and for one that was published with Callboard. */
  binary: Binary.nullable().default(null),
  at: z.iso.datetime(),
  checks: z.array(HandshakeCheck),
});
export type HandshakeReport = z.infer<typeof HandshakeReport>;

/** What a program reported about itself, so that it need not be asked at each start of Callboard. */
export const KnownProgram = z.object({
  binary: Binary,
  version: z.string().nullable(),
  complaint: z.string().nullable(),
  flags: z.array(z.string()).nullable(),
});
export type KnownProgram = z.infer<typeof KnownProgram>;

/** The file `doctor.json` of a data directory: the newest report of each version and file, newest first. */
export const DoctorFile = z.object({
  reports: z.array(HandshakeReport),
  programs: z.array(KnownProgram).default([]),
});
export type DoctorFile = z.infer<typeof DoctorFile>;

/** Whether every promise is known to be kept. */
export const isWhole = ({ checks }: HandshakeReport): boolean => checks.every(({ verdict }) => verdict === 'yes');

/** The broken promises, as people notice them. Those that could not be tried because another one is broken are not listed. */
export const lacksOf = ({ checks }: HandshakeReport): string[] =>
  checks.flatMap(({ verdict, lack, sentence }) => (verdict === 'no' ? [lack || `does not do this: ${sentence}`] : []));

/** The promises that a version no longer keeps, compared with an earlier version. */
export interface Regression {
  /** The earlier version. */
  since: string;
  lost: HandshakeCheck[];
}

/**
 * Compares with the earlier version that was tried last; null if there is none, or nothing was lost. An untried promise does
 * not count as lost: the one that kept it from being tried does.
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

/** How many reports, and how many programs, are kept. */
const MAX_VERSIONS = 20;
const MAX_PROGRAMS = 5;

const fileIn = (dataDir: string) => join(dataDir, 'doctor.json');

async function read(dataDir: string): Promise<DoctorFile> {
  try {
    return DoctorFile.parse(JSON.parse(await readFile(fileIn(dataDir), 'utf8')));
  } catch {
    return { reports: [], programs: [] };
  }
}

/**
 * Reads the newest report of each version and file, newest first. Empty if there is no data directory, no file, or one that
 * cannot be parsed: its contents can be found out again at any time.
 */
export const readLastReports = async (dataDir: string): Promise<HandshakeReport[]> => (await read(dataDir)).reports;

/** Reads what programs reported about themselves. Empty in the same cases as `readLastReports`. */
export const readKnownPrograms = async (dataDir: string): Promise<KnownProgram[]> => (await read(dataDir)).programs;

/**
 * Saves a report, replacing the last one of its version and file, in a file readable by its owner only.
 * @returns false if there is no data directory; none is created
 */
export function saveReport(dataDir: string, report: HandshakeReport): Promise<boolean> {
  const isOld = ({ version, binary }: HandshakeReport) =>
    version === report.version && (binary === null || isDeepStrictEqual(binary, report.binary));
  return change(dataDir, (file) => {
    const others = file.reports.filter((other) => !isOld(other));
    return { ...file, reports: [report, ...others].slice(0, MAX_VERSIONS) };
  });
}

/** Saves what a program reported about itself, replacing the entry for its path. @returns false as `saveReport` */
export function saveProgram(dataDir: string, program: KnownProgram): Promise<boolean> {
  return change(dataDir, (file) => {
    const others = file.programs.filter(({ binary }) => binary.path !== program.binary.path);
    return { ...file, programs: [program, ...others].slice(0, MAX_PROGRAMS) };
  });
}

/** If two processes write at the same time, the later one wins; what is lost will be found out again. */
async function change(dataDir: string, changed: (file: DoctorFile) => DoctorFile): Promise<boolean> {
  const file = changed(await read(dataDir));
  const draft = `${fileIn(dataDir)}.${randomUUID()}`;
  try {
    await writeFile(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
    await rename(draft, fileIn(dataDir));
    return true;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}
