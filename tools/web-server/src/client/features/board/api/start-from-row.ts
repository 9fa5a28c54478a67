import type { StageView } from '@callboard/contract';
import { startStage } from '../../../data/stage-commands.ts';
import { showFailure } from '../../../data/use-command.tsx';
import { useBoardUi } from '../model/board-ui.ts';

/** Starts a stage; until that is answered, its row says so. */
export async function startFromRow(stage: StageView): Promise<void> {
  const { id, title } = stage;
  const { setSending } = useBoardUi.getState();
  setSending(id, 'is being started');
  try {
    await startStage(id);
  } catch (error) {
    const retry = () => void startFromRow(stage);
    showFailure({ title: `${title} was not started`, error, stageId: id, retry });
  } finally {
    setSending(id, null);
  }
}
