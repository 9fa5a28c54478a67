import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type FileSystemProbe, probeFileSystem } from '@callboard/orchestrator/doctor';
import { systemCode } from '@callboard/runtime/errors';
import { quoted } from '../command-line/quote.ts';
import { folderComplaint } from '../folder-complaint.ts';
import { type Finding, type MachineCheck, named, ok, problem, warning } from './machine-check.ts';

const GIBIBYTE = 1024 ** 3;
const ELSEWHERE = 'Use a folder of another file system: --data-dir PATH';

/** The data directory, and what its file system can do. Where it is not there yet, the folder that it would be made in. */
export async function checkDataDir(dataDir: string): Promise<MachineCheck[]> {
  const folder = await nearestFolder(dataDir);
  const probe = await probeFileSystem(folder).catch((error: unknown) => new Unusable(folderComplaint(error)));
  const own = await named('data-dir', 'Data directory', () => checkFolder(dataDir, folder, probe));
  if (probe instanceof Unusable) return [own];
  return [
    own,
    await named('disk-space', 'Disk space', () => checkSpace(folder)),
    await named('fifo', 'Named pipes', () => judgeFifo(probe.fifo)),
    await named('holes', 'Hole punching', () => judgeHoles(probe.holes)),
  ];
}

/** Why nothing can be written into a folder. */
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
    return problem(`${dataDir} belongs to another account`, `sudo chown -R "$(id -un)" ${quoted(dataDir)}`);
  }
  if (probe instanceof Unusable) {
    const what = isNew ? 'cannot be made' : 'cannot be used';
    return problem(`${dataDir} ${what}: ${probe.why}`, 'Use another folder: --data-dir PATH');
  }
  if (isNew) return ok(`${dataDir} is not there yet; it is made at the first start`);
  const permissions = (mode & 0o777).toString(8).padStart(4, '0');
  if (permissions === '0700') return ok(`${dataDir}, for its owner alone`);
  return warning(`${dataDir} is open to others (${permissions})`, `chmod 700 ${quoted(dataDir)}`);
}

/** @param free what `df` would call available, in bytes; asked for where it is not given. */
export async function checkSpace(folder: string, free?: number): Promise<Finding> {
  const bytes = free ?? (await freeBytes(folder));
  const found = `${(bytes / GIBIBYTE).toFixed(1)} GiB free`;
  if (bytes >= GIBIBYTE) return ok(found);
  return warning(
    `${found}; when the disk is full, what Claude prints is lost`,
    `Make room: du -xh ${quoted(folder)} | sort -h | tail`,
  );
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** @param complaint what went wrong, null for nothing. */
export const judgeFifo = (complaint: string | null): Finding =>
  complaint === null
    ? ok('work here; sessions outlive a restart of Callboard')
    : problem(`do not work here (${complaint}); sessions cannot be started`, ELSEWHERE);

/** @param complaint what went wrong, null for nothing. */
export const judgeHoles = (complaint: string | null): Finding =>
  complaint === null
    ? ok('works here; long sessions give disk space back')
    : warning(`does not work here (${complaint}); the files of long sessions grow until they end`, ELSEWHERE);

/** The folder itself, or the first one above it that is there. */
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
