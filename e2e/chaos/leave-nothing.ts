import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StageId } from '@callboard/contract';
import type { Transport } from '@callboard/contract/client';
import { git } from '../../test-support/git.ts';
import { claudePids } from '../support/processes.ts';
import { insist } from './people.ts';
import type { Place } from './place.ts';

/**
 * Stops and removes every stage, ends Callboard everywhere, and looks for what is left. Each machine's processes are looked for
 * by its installation once more, when the test is over. @returns what was left, in words
 */
export async function leaveNothing(
  place: Place,
  transport: Transport,
  stages: readonly StageId[],
  signal: AbortSignal,
): Promise<string[]> {
  const left: string[] = [];
  const { pending } = await insist(signal, () => transport.command('get_pending', {}));
  left.push(...pending.map(({ requestId }) => `the open request ${requestId}`));
  const owners = await Promise.all(stages.map((stageId) => worktreesOf(place, stageId)));
  for (const [index, paths] of owners.entries())
    if (paths.length !== 1) left.push(`${paths.length} worktrees of ${stages[index]}: ${paths.join(', ')}`);
  // What is in no commit would keep its worktree from being removed.
  for (const path of owners.flat()) await rm(join(path, 'ran.txt'), { force: true });
  for (const stageId of stages) left.push(...(await removeStage(transport, stageId, signal)));
  for (const machine of place.machines) {
    const { installation, name } = machine;
    for (const pid of await claudePids(installation.folder)) left.push(`on ${name}: the process ${pid}`);
    const worktrees = await git(installation.repo, 'worktree', 'list', '--porcelain');
    const paths = [...worktrees.matchAll(/^worktree (.+)$/gm)].map(([, path]) => path);
    left.push(...paths.filter((path) => path !== installation.repo).map((path) => `on ${name}: the worktree ${path}`));
    await machine.stop();
  }
  return [...left, ...(await leftInDatabase(place))];
}

async function worktreesOf({ machines }: Place, stageId: StageId): Promise<string[]> {
  const paths = machines.map(async ({ installation: { dataDir } }) => {
    const folder = join(dataDir, 'worktrees', 'shop');
    const names = await readdir(folder).catch(() => []); // no stage has run there
    return names.filter((name) => name === stageId).map((name) => join(folder, name));
  });
  return (await Promise.all(paths)).flat();
}

/** Returns what was wrong, in words. A reply may be lost, and then the stage is gone. */
async function removeStage(transport: Transport, stageId: StageId, signal: AbortSignal): Promise<string[]> {
  const ends = ['idle', 'busy', 'waiting', 'starting'];
  for (;;) {
    const { session } = await insist(signal, () => transport.command('get_session', { stageId }));
    if (!ends.includes(session.state)) break;
    await insist(signal, () => transport.command('stop_stage', { stageId })).catch(() => undefined); // the next look tells
    await sleep(50, undefined, { signal });
  }
  await insist(signal, () => transport.command('remove_stage', { stageId })).catch(() => undefined);
  const { stages } = await insist(signal, () => transport.command('get_board', {}));
  return stages.some(({ id }) => id === stageId) ? [`the stage ${stageId}`] : [];
}

/** Everybody has gone: no connection, no transaction and no command may wait there, and no number of an event be missing. */
async function leftInDatabase({ database }: Place): Promise<string[]> {
  if (database === null) return [];
  const counts = {
    connections:
      "select count(*) from pg_stat_activity where usename = 'callboard' and pid <> pg_backend_pid() and backend_type = 'client backend'",
    'open launches': 'select count(*) from launches where ended_at is null',
    'missing numbers of events': 'select coalesce(max(seq) - min(seq) + 1 - count(*), 0) from events',
  };
  const left: string[] = [];
  for (const [what, sql] of Object.entries(counts)) {
    const count = await database.count(sql);
    if (count !== 0) left.push(`${count} ${what}`);
  }
  return left;
}
