import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { systemCode } from '../lib/errors.ts';
import { DoctorFile, type HandshakeReport, type KnownProgram } from './report.ts';

/** How many reports are remembered. */
const KEPT_VERSIONS = 20;
const KEPT_PROGRAMS = 5;

const fileIn = (dataDir: string) => join(dataDir, 'doctor.json');

async function read(dataDir: string): Promise<DoctorFile> {
  try {
    return DoctorFile.parse(JSON.parse(await readFile(fileIn(dataDir), 'utf8')));
  } catch {
    return { reports: [], programs: [] };
  }
}

/**
 * The newest report of each version and file that was tried, the newest of all first. None where there is no data
 * directory, no file, or one that cannot be understood: what it says can be found out again at any time.
 */
export const readLastReports = async (dataDir: string): Promise<HandshakeReport[]> => (await read(dataDir)).reports;

/** What programs said of themselves; none as with the reports. */
export const readKnownPrograms = async (dataDir: string): Promise<KnownProgram[]> => (await read(dataDir)).programs;

/**
 * Keeps a report in place of the last one of its version and file, in a file for its owner alone. False where there is
 * no data directory: none is made for it.
 */
export function saveReport(dataDir: string, report: HandshakeReport): Promise<boolean> {
  const isOld = ({ version, binary }: HandshakeReport) =>
    version === report.version && (binary === null || isDeepStrictEqual(binary, report.binary));
  return change(dataDir, (file) => {
    const others = file.reports.filter((other) => !isOld(other));
    return { ...file, reports: [report, ...others].slice(0, KEPT_VERSIONS) };
  });
}

/** Keeps what a program said, in place of what was said of the file at its path before. False as with `saveReport`. */
export function saveProgram(dataDir: string, program: KnownProgram): Promise<boolean> {
  return change(dataDir, (file) => {
    const others = file.programs.filter(({ binary }) => binary.path !== program.binary.path);
    return { ...file, programs: [program, ...others].slice(0, KEPT_PROGRAMS) };
  });
}

/** Of two processes that write at the same time the later one wins: what is lost is found out again. */
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
