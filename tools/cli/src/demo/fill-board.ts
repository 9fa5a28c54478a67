import type { ProjectId, StageId } from '@callboard/contract';
import { createHttpTransport, type Transport } from '@callboard/contract/client';
import { type DemoStage, finishedStage, IMPORT_FOLDER, otherStages, waitingStage } from './stages.ts';

const FINISH_MS = 60_000;

/**
 * Creates the demo's stages through the public API, as any program with a token can.
 * @returns whether the stage to review has finished; false if it takes too long, which is harmless
 */
export async function fillBoard(origin: string, token: string, signal: AbortSignal): Promise<boolean> {
  const transport = createHttpTransport({ origin, token });
  const { seq, projects } = await transport.command('get_board', {}, signal);
  const projectId = projects[0]?.id;
  if (projectId === undefined) throw new Error('the board has no project');
  const create = (stage: DemoStage, dependsOn: StageId[] = []) => createStage(transport, projectId, stage, dependsOn);
  const finished = await create(finishedStage);
  const isFinished = await finish(transport, finished, seq, signal);
  for (const stage of otherStages) await create(stage);
  await create(waitingStage, [finished]);
  await transport.command('import_stages', { projectId, path: IMPORT_FOLDER }, signal);
  return isFinished;
}

async function createStage(transport: Transport, projectId: ProjectId, stage: DemoStage, dependsOn: StageId[]) {
  const reply = await transport.command('create_stage', { ...stage, projectId, dependsOn });
  return reply.stage.id;
}

/** Allows every request of the stage until its turn is over. */
async function finish(transport: Transport, stageId: StageId, since: number, signal: AbortSignal): Promise<boolean> {
  const enough = new AbortController();
  const timer = setTimeout(() => enough.abort(), FINISH_MS);
  try {
    for await (const item of transport.events({ since }, AbortSignal.any([signal, enough.signal]))) {
      if (item.type === 'approval-requested' && item.data.stageId === stageId) {
        const { requestId } = item.data;
        await transport.command('approve_tool', { stageId, requestId, decision: 'allow' }, signal);
      }
      const isOver = item.type === 'session-updated' && item.data.stageId === stageId && item.data.lastTurn !== null;
      if (isOver) return true;
    }
    signal.throwIfAborted();
    return false;
  } finally {
    clearTimeout(timer);
    enough.abort();
  }
}
