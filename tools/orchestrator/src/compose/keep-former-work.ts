import { join, sep } from 'node:path';
import type { Stage, StageId, Worktree } from '@callboard/contract';
import { messageOf } from '@callboard/runtime/errors';
import { endMarked } from '../claude/processes/end-processes.ts';
import { findMarkedProcesses } from '../claude/processes/marked-processes.ts';
import { changeSession } from '../domain/change-session.ts';
import { addNotice } from '../domain/session-change.ts';
import { pathExists } from '../lib/path-exists.ts';
import type { LaunchRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import type { Membership } from './join-machines.ts';
import type { StartContext } from './start-context.ts';

interface FormerParts {
  store: Store;
  worktrees: Pick<Worktrees, 'keepTurn'>;
  membership: Membership;
}

/** A stage that was taken from this machine while it was away. */
interface Former {
  stage: Stage;
  launches: LaunchRecord[];
}

/**
 * After a machine was declared lost and comes back: keeps the files of each stage that was taken from it on a ref, uncommitted
 * ones with them, then ends their processes, and says in their transcripts what was found. A stage that fails keeps its
 * processes from nothing: they are ended all the same.
 */
export async function keepFormerWork(
  context: StartContext,
  { membership, ...others }: Omit<FormerParts, 'membership'> & { membership: Membership | null },
): Promise<void> {
  if (membership === null || !membership.wasLost) return;
  const parts = { ...others, membership };
  for (const former of await findFormer(context, parts)) await keepOne(context, parts, former);
  // Not before: whoever is killed in between begins again at the next start.
  const { claims, epoch } = membership;
  await others.store.transact((tx) => tx.machines.keptFormerWork(claims.here, epoch));
}

async function findFormer({ config }: StartContext, { store, membership }: FormerParts): Promise<Former[]> {
  const found: Former[] = [];
  for (const stage of await store.read.stages.list()) {
    if (stage.machineId === membership.claims.here) continue;
    const launches = await store.read.launches.listOf(stage.id);
    const own = launches.filter(({ folder }) => folder.startsWith(`${config.dataDir}${sep}`));
    if (own.length > 0) found.push({ stage, launches: own });
  }
  return found;
}

async function keepOne(
  context: StartContext,
  { store, worktrees, membership }: FormerParts,
  { stage, launches }: Former,
) {
  const { log, edges, limits } = context;
  const name = await membership.machines.nameOf(membership.claims.here);
  const path = stage.lost?.worktree?.path ?? join(context.config.dataDir, 'worktrees', stage.projectId, stage.id);
  const worktree: Worktree = stage.lost?.worktree ?? { path, branch: '', base: '' }; // only its path matters here
  const kept = (await pathExists(path))
    ? await worktrees
        .keepTurn(worktree, { stageId: stage.id, name: `lost-${edges.now().toISOString()}` })
        .then(({ commit }) => `Its files there, uncommitted ones with them, are kept as the commit ${commit}.`)
        .catch((error: unknown) => {
          log.error({ err: error, stageId: stage.id }, 'the work of a former stage was not kept');
          return `Its files there are in ${path}; they could not be kept in git as well: ${messageOf(error)}`;
        })
    : 'It has no worktree there any more.';
  const marked = await findMarkedProcesses();
  const ids = launches.map(({ id }) => id);
  const running = ids.flatMap((id) => marked.get(id) ?? []).length;
  await endMarked(ids, limits.graces.signalMs);
  const ended =
    running === 0 ? 'Nothing of it ran there any more.' : `${running} of its processes ran there, and were ended.`;
  await tell(store, stage.id, `${name} is back. ${kept} ${ended}`);
}

async function tell(store: Store, stageId: StageId, text: string): Promise<void> {
  await store.transact(async (tx) => {
    if ((await tx.sessions.find(stageId)) === null) return;
    await changeSession(tx, stageId, (change) =>
      addNotice(change, tx.now, { level: 'warning', code: 'machine-back', text }),
    );
  });
}
