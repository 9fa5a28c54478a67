import { CONTINUE_MESSAGE, MessageId, type StageId, type StageView } from '@callboard/contract';
import { type GoOn, goOnWith } from '../lib/go-on.ts';
import { sendMessage } from './send-message.ts';
import { useStartStage } from './stage-commands.ts';
import { useCommand } from './use-command.ts';

interface Try {
  stageId: StageId;
  /** Which end of a turn it is to go on from. */
  after: string;
}

/** The message that was last sent for each stage: pressed again for the same end of a turn, it is the same message. */
const tries = new Map<StageId, { after: string; messageId: MessageId }>();

function messageIdOf({ stageId, after }: Try): MessageId {
  const last = tries.get(stageId);
  if (last?.after === after) return last.messageId;
  const messageId = MessageId.parse(crypto.randomUUID());
  tries.set(stageId, { after, messageId });
  return messageId;
}

/**
 * Lets a stage go on whose last turn did not end well; null where that is not to be had by one click. Pressed twice, or
 * after a reply that was lost, it is said once.
 */
export function useGoOn(stage: StageView): (GoOn & { run: () => void; isSending: boolean }) | null {
  const start = useStartStage(stage.title);
  const tell = useCommand({
    run: (one: Try) =>
      sendMessage(one.stageId, { message: CONTINUE_MESSAGE, messageId: messageIdOf(one), mode: 'append' }),
    failed: `${stage.title} was not told to continue`,
    // It may be taken out of the queue again, and then asked for anew.
    done: ({ status }, { stageId }) => status === 'queued' && tries.delete(stageId),
  });
  const goOn = goOnWith(stage);
  if (goOn === null) return null;
  const after = stage.session?.lastTurn?.at ?? '';
  if (goOn.by === 'start') return { ...goOn, run: () => start.mutate(stage.id), isSending: start.isPending };
  // Until the turn that it begins is seen here.
  const isTold = tell.isSuccess && tell.data.status !== 'queued' && tell.variables.after === after;
  return { ...goOn, run: () => tell.mutate({ stageId: stage.id, after }), isSending: tell.isPending || isTold };
}
