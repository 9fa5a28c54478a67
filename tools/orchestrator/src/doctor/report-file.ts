import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { systemCode } from '@callboard/runtime/errors';
import { DoctorFile, type HandshakeReport, type KnownProgram } from './report.ts';

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
