import type { CapabilitiesReply, ProjectId, StageId } from '@callboard/contract';
import { requireStage } from '../store/require.ts';
import type { Store } from '../store/store.ts';

/**
 * What Claude Code offers a stage, as it said when it was last started: for the stage itself, else for another one of
 * its project, else for any, of which the commands of another repository are left out.
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
