import { randomUUID } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { identify } from '@callboard/runtime/process-identity';
import { launchFiles, stageTemporaryFolder } from '../../../src/core/claude/claude-process.ts';
import { dataDirLayout } from '../../../src/platform/data-dir.ts';
import type { Kit } from '../kit.ts';
import { livingProcess } from '../living-process.ts';
import type { FileTarget, ProcessTarget, Targets } from './targets.ts';

const SCRIPT = fileURLToPath(new URL('./attack.ts', import.meta.url));

/** Paths that the command must be able to read even if the folders that contain them are hidden. */
export const ATTACK_FILES = [dirname(process.execPath), fileURLToPath(new URL('../../../../..', import.meta.url))];

/** Returns a Bash command that runs the named attacks on the targets in the file; all attacks if none is named. */
export const attackCommand = (targets: string, ...names: string[]): string =>
  [process.execPath, SCRIPT, targets, ...names].map((word) => `'${word}'`).join(' ');

async function fileTarget(path: string): Promise<FileTarget> {
  const { dev, ino } = await stat(path, { bigint: true });
  return { path, id: `${dev}:${ino}` };
}

async function processTarget(pid: number): Promise<ProcessTarget> {
  const identity = await identify(pid);
  if (identity === null) throw new Error(`there is no process ${pid}`);
  return { pid, startTime: identity.startTime };
}

/** Targets that the test provides. */
type Given = Pick<Targets, 'ports' | 'sockets' | 'secretFiles' | 'secret' | 'inputLine' | 'outputLine'>;

/** Writes down the targets of a script in the first stage's session; the second stage is another living session. */
export async function aim(
  kit: Kit,
  file: string,
  [stageId, otherId]: [string, string],
  given: Given,
): Promise<Targets> {
  const [own, other] = await Promise.all([filesOf(kit, stageId), filesOf(kit, otherId)]);
  const layout = dataDirLayout(kit.dataDir);
  const lock: { pid: number; port: number } = JSON.parse(await readFile(layout.orchestratorLock, 'utf8'));
  const targets: Targets = {
    ...given,
    ports: [...given.ports, lock.port],
    fifo: await fileTarget(own.input),
    spool: await fileTarget(own.spool),
    worktree: own.worktree,
    claude: await processTarget((await livingProcess(kit, stageId)).pid),
    other: {
      fifo: await fileTarget(other.input),
      worktree: other.worktree,
      temporary: await fileTarget(other.temporary),
    },
    store: await fileTarget(layout.database),
    folders: await Promise.all([kit.dataDir, layout.sessions, dirname(layout.orchestratorLock)].map(fileTarget)),
    home: kit.env.HOME ?? '',
    repo: kit.repo,
    callboard: [await processTarget(lock.pid)],
    marker: `attack-${randomUUID()}`,
  };
  await writeFile(file, JSON.stringify(targets));
  return targets;
}

async function filesOf({ client, dataDir, env }: Kit, stageId: string) {
  const { stage } = await client.command('get_stage', { stageId });
  const { session } = await client.command('get_session', { stageId });
  const worktree = stage.worktree?.path ?? '';
  const files = launchFiles(join(dataDirLayout(dataDir).sessions, stageId, session.launchId ?? ''));
  const base = env.TMPDIR ?? '';
  const isSandboxed = session.isolation.reason === 'sandboxed';
  const own = isSandboxed ? await stageTemporaryFolder(base, dataDir, stageId) : base;
  // Named after the worktree, as Claude Code does it.
  const temporary = join(own ?? '', `claude-${process.getuid?.()}`, worktree.replaceAll(/[^A-Za-z0-9]/g, '-'));
  return { ...files, worktree, temporary };
}
