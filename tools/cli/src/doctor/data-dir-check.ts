import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { shellQuote } from '@callboard/contract';
import { type FileSystemProbe, probeFileSystem } from '@callboard/orchestrator/doctor';
import { systemCode } from '@callboard/runtime/errors';
import { explainFolderError } from '../data-folder.ts';
import { type Finding, type MachineCheck, ok, problem, runCheck, warning } from './report.ts';

const GIGABYTE = 1_000_000_000;
const ELSEWHERE = 'Use a folder on another file system: --data-dir PATH';

/** Checks the data directory and its file system; if it is missing, the folder where it would be created. */
export async function checkDataDir(dataDir: string): Promise<MachineCheck[]> {
  const folder = await nearestFolder(dataDir);
  const probe = await probeFileSystem(folder).catch((error: unknown) => new Unusable(explainFolderError(error)));
  const own = await runCheck('data-dir', 'Data directory', () => checkFolder(dataDir, folder, probe));
  if (probe instanceof Unusable) return [own];
  return [
    own,
    await runCheck('disk-space', 'Disk space', () => checkSpace(folder)),
    await runCheck('fifo', 'Named pipes', () => judgeFifo(probe.fifo)),
    await runCheck('holes', 'Hole punching', () => judgeHoles(probe.holes)),
  ];
}

/** A folder that cannot be written to. */
class Unusable {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

async function checkFolder(dataDir: string, folder: string, probe: FileSystemProbe | Unusable): Promise<Finding> {
  const isNew = folder !== dataDir;
  const { uid, mode } = await stat(folder);
  if (!isNew && uid !== process.geteuid?.()) {
    return problem(`${dataDir} belongs to another account`, `sudo chown -R "$(id -un)" ${shellQuote(dataDir)}`);
  }
  if (probe instanceof Unusable) {
    const what = isNew ? 'cannot be made' : 'cannot be used';
    return problem(`${dataDir} ${what}: ${probe.why}`, 'Use another folder: --data-dir PATH');
  }
  if (isNew) return ok(`${dataDir} does not exist yet; the first start makes it`);
  const permissions = (mode & 0o777).toString(8).padStart(4, '0');
  if (permissions === '0700') return ok(`${dataDir}, for its owner alone`);
  return warning(`${dataDir} is open to others (${permissions})`, `chmod 700 ${shellQuote(dataDir)}`);
}

/** @param free the bytes that `df` calls available; by default read from the file system */
export async function checkSpace(folder: string, free?: number): Promise<Finding> {
  const bytes = free ?? (await freeBytes(folder));
  const found = `${(bytes / GIGABYTE).toFixed(1)} GB free`;
  if (bytes >= GIGABYTE) return ok(found);
  return warning(
    `${found}; while the disk is full, what Claude prints is lost`,
    `Free some space: du -xh ${shellQuote(folder)} | sort -h | tail`,
  );
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** @param complaint what failed, null for nothing */
export const judgeFifo = (complaint: string | null): Finding =>
  complaint === null
    ? ok('work here; sessions survive a restart of Callboard')
    : problem(`do not work here (${complaint}); sessions cannot be started`, ELSEWHERE);

/** @param complaint what failed, null for nothing */
export const judgeHoles = (complaint: string | null): Finding =>
  complaint === null
    ? ok('works here; long sessions return disk space')
    : warning(`does not work here (${complaint}); the files of long sessions grow until they end`, ELSEWHERE);

/** Returns the folder itself, or the nearest existing one above it. */
async function nearestFolder(path: string): Promise<string> {
  try {
    await stat(path);
    return path;
  } catch (error) {
    const isMissing = systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR';
    if (!isMissing || dirname(path) === path) return path;
    return nearestFolder(dirname(path));
  }
}
