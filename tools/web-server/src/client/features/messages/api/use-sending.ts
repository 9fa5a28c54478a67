import type { MessageId, MessageMode, StageId } from '@callboard/contract';
import { useEffect, useState } from 'react';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import type { useFiles } from './use-files.ts';
import type { useMessageDraft } from './use-message-draft.ts';
import { useSendMessage } from './use-messages.ts';

interface SendingInput {
  stageId: StageId;
  /** Whether the stage was started. Before that nothing can be sent. */
  isStarted: boolean;
  message: { text: string; isCommand: boolean };
  files: ReturnType<typeof useFiles>;
  begin: ReturnType<typeof useMessageDraft>['begin'];
}

/**
 * Sends the message of the message box, once its files are uploaded.
 *
 * @param sent gets the id of a message that the server has
 */
export function useSending(
  { stageId, isStarted, message, files, begin }: SendingInput,
  sent: (messageId: MessageId) => void,
) {
  /** How to send once the files are uploaded; null if nothing was pressed, or if something was typed since. */
  const [waitingMode, setWaitingMode] = useState<MessageMode | null>(null);
  const send = useSendMessage(stageId, (outgoing) => {
    sent(outgoing.messageId);
    files.sent(outgoing.files);
  });
  const canCommand = useCanCommand();
  const isOff = !isStarted || !canCommand || send.isPending || message.text.trim() === '';
  const submit = (mode: MessageMode) => {
    if (isOff) return;
    const { text, isCommand } = message;
    if (!files.areUploaded) {
      setWaitingMode(mode);
      return;
    }
    const fileIds = files.kept.map(({ fileId }) => fileId);
    const messageId = begin(text, JSON.stringify([isCommand, fileIds]));
    send.mutate({ message: text, messageId, mode, isCommand, files: fileIds });
  };
  const isReady = files.areUploaded && canCommand;
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the last file is uploaded or was not accepted
  useEffect(() => {
    if (waitingMode === null || !isReady) return;
    setWaitingMode(null);
    if (files.problem === null) submit(waitingMode);
  }, [isReady]);
  return {
    submit,
    isOff,
    isPending: send.isPending,
    isBusy: send.isPending || waitingMode !== null,
    error: send.error,
    /** A changed text clears the failure of the last one, and is not sent by an earlier press. */
    textChanged() {
      if (send.isError) send.reset();
      setWaitingMode(null);
    },
  };
}
