import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../lib/errors.ts';
import { DoctorFile, type HandshakeReport } from './report.ts';

/** How many versions are remembered. */
const KEPT_VERSIONS = 20;

const fileIn = (dataDir: string) => join(dataDir, 'doctor.json');

/**
 * The newest report of each version that was tried, the newest of all first. None where there is no data directory, no
 * file, or one that cannot be understood: what it says can be found out again at any time.
 */
export async function readLastReports(dataDir: string): Promise<HandshakeReport[]> {
  try {
    return DoctorFile.parse(JSON.parse(await readFile(fileIn(dataDir), 'utf8'))).reports;
  } catch {
    return [];
  }
}

/**
 * Keeps a report in place of the last one of its version, in a file for its owner alone. False where there is no data
 * directory: none is made for it.
 */
export async function saveReport(dataDir: string, report: HandshakeReport): Promise<boolean> {
  const others = (await readLastReports(dataDir)).filter(({ version }) => version !== report.version);
  const file: DoctorFile = { reports: [report, ...others].slice(0, KEPT_VERSIONS) };
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
