import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StageId } from '@callboard/contract';
import type { Transport } from '@callboard/contract/client';
import { claudePids } from '../../../e2e/support/processes.ts';
import { git } from '../../../test-support/git.ts';
import { until } from '../../../test-support/until.ts';
import type { Losses } from './beyond-lease.ts';
import { insist } from './people.ts';
import type { Instance } from './place.ts';
import { isOf, worktreesOf } from './worktrees.ts';

/**
 * Stops and removes every stage, ends Callboard everywhere, and looks for what is left. Each machine's processes are looked for
 * by its installation once more, when the test is over. @returns what was left, in words
 */
export async function leaveNothing(
  location: Instance,
  { transport, losses }: { transport: Transport; losses: Losses },
  stages: readonly StageId[],
  signal: AbortSignal,
): Promise<string[]> {
  const left: string[] = [];
  const { pending } = await insist(signal, () => transport.command('get_pending', {}));
  left.push(...pending.map(({ requestId }) => `the open request ${requestId}`));
  for (const stageId of stages) left.push(...(await prepareWorktrees(location, losses, stageId)));
  // Beside each other, as many as there are people at the board: one after another, six hundred take longer than all before.
  const said = new Map<StageId, string>();
  const remove = async (stageId: StageId) => void said.set(stageId, await removeStage(transport, stageId, signal));
  await Promise.all(stages.map(remove));
  const { stages: saved } = await insist(signal, () => transport.command('get_board', {}));
  left.push(...saved.flatMap(({ id }) => (stages.includes(id) ? [`the stage ${id}`] : [])));
  for (const machine of location.machines) {
    const { installation, name } = machine;
    for (const pid of await claudePids(installation.folder)) left.push(`on ${name}: the process ${pid}`);
    for (const path of await worktreesLeft(installation.repo)) {
      const ofStage = [...said].find(([stageId]) => isOf(basename(path), stageId));
      const rows = (await location.database?.lines('select document from former_worktrees')) ?? [];
      const known = rows.filter((row) => row.includes(path)).join(' ');
      left.push(`on ${name}: the worktree ${path}. At its removal: ${ofStage?.[1]}. As a former one: ${known}`);
    }
    await machine.stop();
  }
  return [...left, ...(await leftInDatabase(location))];
}

/** A machine that was lost takes its old worktrees away when it hears that their stages are gone. */
async function worktreesLeft(repo: string): Promise<string[]> {
  let paths: string[] = [];
  const check = async () => {
    const worktrees = await git(repo, 'worktree', 'list', '--porcelain');
    paths = [...worktrees.matchAll(/^worktree (.+)$/gm)].flatMap(([, path = '']) => (path === repo ? [] : path));
    return paths.length === 0;
  };
  await until('all worktrees are gone', check, { withinMs: TAKING_MS }).catch(() => undefined); // the caller names them
  return paths;
}

/** One after another, each with some ten calls of git, beside two other machines. */
const TAKING_MS = 60_000;

/**
 * Makes the worktrees of a stage fit to be removed with it: what is in no commit would keep one. A machine that was lost has its
 * old worktree until it has heard that the stage went on elsewhere. @returns what was wrong, in words
 */
async function prepareWorktrees({ machines }: Instance, losses: Losses, stageId: StageId): Promise<string[]> {
  const found = await Promise.all(machines.map(({ installation }) => worktreesOf(installation, stageId)));
  const paths = found.flat();
  const most = 1 + (losses.get(stageId) ?? 0);
  for (const path of paths) await rm(join(path, 'ran.txt'), { force: true });
  return paths.length < 1 || paths.length > most
    ? [`${paths.length} worktrees of ${stageId}: ${paths.join(', ')}`]
    : [];
}

/** A reply may be lost, and then the stage is gone. @returns what was said of the removal, which may say why a worktree is left */
async function removeStage(transport: Transport, stageId: StageId, signal: AbortSignal): Promise<string> {
  const ends = ['idle', 'busy', 'waiting', 'starting'];
  for (;;) {
    const { session } = await insist(signal, () => transport.command('get_session', { stageId }));
    if (!ends.includes(session.state)) break;
    await insist(signal, () => transport.command('stop_stage', { stageId })).catch(() => undefined); // the next look tells
    await sleep(50, undefined, { signal });
  }
  return insist(signal, () => transport.command('remove_stage', { stageId })).then(
    ({ left }) => left ?? 'nothing was left',
    (error: unknown) => String(error),
  );
}

/** Everybody has gone: no connection, no transaction and no command may wait there, and no number of an event be missing. */
async function leftInDatabase({ database }: Instance): Promise<string[]> {
  if (database === null) return [];
  let connections: string[] = [];
  const check = async () => {
    connections = await database.lines(CONNECTIONS);
    return connections.length === 0;
  };
  await until('nobody is connected', check, { withinMs: PARTING_MS }).catch(() => undefined); // the caller names them
  const left = connections.map((what) => `a connection to the database: ${what}`);
  const counts = {
    'open launches': 'select count(*) from launches where ended_at is null',
    'missing numbers of events': 'select coalesce(max(seq) - min(seq) + 1 - count(*), 0) from events',
  };
  for (const [what, sql] of Object.entries(counts)) {
    const count = await database.count(sql);
    if (count !== 0) left.push(`${count} ${what}`);
  }
  return left;
}

const CONNECTIONS =
  "select backend_start, state, state_change, left(query, 200) from pg_stat_activity where usename = 'callboard' and pid <> pg_backend_pid() and backend_type = 'client backend'";

/** Whoever gave a connection up while its link was cut could tell nobody: then it ends when keep-alive has asked in vain. */
const PARTING_MS = 30_000;
