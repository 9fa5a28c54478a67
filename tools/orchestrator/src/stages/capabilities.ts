import type { CapabilitiesReply, ProjectId, StageId } from '@callboard/contract';
import { requireStage } from '../store/require.ts';
import type { Store } from '../store/store.ts';

/**
 * Returns what Claude Code offers, as reported at the newest launch: of the stage itself, else of another stage of its
 * project, else of any stage. The last leaves out commands that are not built in, since they belong to another repository.
 * @throws Rejection `unknown_stage`
 */
export async function capabilitiesOf(
  store: Store,
  { stageId, projectId }: { stageId?: StageId | undefined; projectId?: ProjectId | undefined },
): Promise<CapabilitiesReply> {
  const all = store.read.capabilities;
  const stage = stageId === undefined ? null : await requireStage(store.read, stageId);
  const own = stage === null ? null : await all.find(stage.id);
  if (own !== null) return { capabilities: own, from: 'stage' };
  const project = stage?.projectId ?? projectId;
  const ofProject = project === undefined ? null : await all.newestOf(project);
  if (ofProject !== null) return { capabilities: ofProject, from: 'project' };
  const newest = await all.newest();
  if (newest === null) return { capabilities: null, from: null };
  return {
    capabilities: { ...newest, commands: newest.commands.filter((command) => command.isBuiltIn) },
    from: 'installation',
  };
}
