import type { MessageMode, SessionState, StageId } from '@callboard/contract';
import { Checkbox, Textarea } from '@mantine/core';
import { type ClipboardEvent, type KeyboardEvent, useId, useState } from 'react';
import { errorText } from '../../../lib/api.ts';
import { useCanCommand } from '../../../live/live-context.tsx';
import { FailureNote } from '../../../ui/note.tsx';
import { useMessageDraft } from '../api/use-message-draft.ts';
import { useSendMessage } from '../api/use-messages.ts';
import { useHeldFiles } from '../model/attachments.ts';
import { composerWords, modeOfKey } from '../model/composer-words.ts';
import { mayBeCommand } from '../model/slash-commands.ts';
import { AttachButton, HeldFileList } from './attachments.tsx';
import css from './messages.module.css';
import { SendButton } from './send-button.tsx';
import { CompletionList, useCompletions } from './slash-completions.tsx';
import { useFiles } from './use-files.ts';

/** The text stays until the server has it. */
export function Composer({ stageId, state }: { stageId: StageId; state: SessionState | null }) {
  const { text, setText, forget } = useMessageDraft(stageId);
  const [wantsCommand, setWantsCommand] = useState(false);
  const { files, problem, add } = useFiles(stageId);
  const send = useSendMessage(stageId, (sent) => {
    forget(sent.message);
    useHeldFiles.getState().remove(stageId, new Set(sent.files.map((file) => file.id)));
    setWantsCommand(false);
  });
  const canCommand = useCanCommand();
  const hintId = useId();
  const isStarted = state !== null;
  const isOff = !isStarted || !canCommand || send.isPending || text.trim() === '';
  const isWorking = state === 'busy' || state === 'waiting' || state === 'starting';
  const isCommand = wantsCommand && mayBeCommand(text);

  const submit = (mode: MessageMode) => {
    if (!isOff) send.mutate({ message: text, mode, isCommand, files });
  };
  const change = (next: string) => {
    if (send.isError) send.reset();
    setText(next);
  };
  const complete = useCompletions(text, (command) => {
    change(`${command} `);
    setWantsCommand(true);
  });
  const onKeyDown = (event: KeyboardEvent) => {
    if (complete.onKeyDown(event)) return;
    const mode = modeOfKey(event.nativeEvent, isWorking);
    if (mode === null) return;
    event.preventDefault();
    submit(mode);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a place to drop files on; the button beside it does the same
    <div
      className={css.composer}
      onDragOver={(event) => event.dataTransfer.types.includes('Files') && event.preventDefault()}
      onDrop={(event) => {
        if (event.dataTransfer.files.length === 0) return;
        event.preventDefault();
        if (isStarted) add(event.dataTransfer.files);
      }}
    >
      {send.isError && <FailureNote>Not sent. {errorText(send.error)}</FailureNote>}
      {problem !== null && <FailureNote>{problem}</FailureNote>}
      <HeldFileList stageId={stageId} files={files} />
      <CompletionList completions={complete} />
      <div className={css.row}>
        <AttachButton off={!isStarted} add={add} />
        <Textarea
          className={css.text}
          aria-label="Message"
          aria-describedby={hintId}
          {...complete.aria}
          placeholder={isStarted ? 'Message' : 'Start the stage to write to Claude'}
          autosize
          minRows={1}
          maxRows={10}
          value={text}
          disabled={!isStarted}
          readOnly={send.isPending}
          onChange={(event) => change(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          onPaste={(event: ClipboardEvent) => {
            if (event.clipboardData.files.length === 0) return;
            event.preventDefault();
            add(event.clipboardData.files);
          }}
        />
        <SendButton off={isOff} busy={send.isPending} isWorking={isWorking} submit={submit} />
      </div>
      <div className={css.foot}>
        {mayBeCommand(text) && (
          <Checkbox
            size="xs"
            label="Run as a command"
            checked={wantsCommand}
            onChange={(event) => setWantsCommand(event.currentTarget.checked)}
          />
        )}
        <div className={css.hint} id={hintId}>
          {composerWords(state)}
        </div>
      </div>
    </div>
  );
}
