import { isActive, type SessionState, type StageId } from '@callboard/contract';
import { Checkbox, Textarea } from '@mantine/core';
import { type KeyboardEvent, type ReactNode, useId, useState } from 'react';
import { useSuggestions } from '../../../data/use-suggestions.ts';
import { mayBeCommand } from '../../../lib/slash-commands.ts';
import { AttachButton, DropZone, takeFiles } from '../../../ui/attached-files.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { FailureNote, Note } from '../../../ui/note.tsx';
import { CompletionList, useTextCompletion } from '../../../ui/text-completion.tsx';
import { useFiles } from '../api/use-files.ts';
import { useMessageDraft } from '../api/use-message-draft.ts';
import { useSending } from '../api/use-sending.ts';
import { composerText, modeOfKey } from '../model/composer-words.ts';
import { AttachedFiles } from './attachments.tsx';
import css from './messages.module.css';
import { SendButton } from './send-button.tsx';

interface ComposerProps {
  stageId: StageId;
  state: SessionState | null;
  /** Whether the stage is done. */
  isDone: boolean;
  isAlarmed: boolean;
  isInTerminal: boolean;
  isPaused: boolean;
  /** Whether a check of the finished phase is due or runs. */
  isChecking: boolean;
  /** The switches of the session. */
  chips: ReactNode;
}

/** The message box. The text stays in it until the server has it. */
export function Composer({
  stageId,
  state,
  isDone,
  isAlarmed,
  isInTerminal,
  isPaused,
  isChecking,
  chips,
}: ComposerProps) {
  const { text, setText, begin, forget } = useMessageDraft(stageId);
  const [wantsCommand, setWantsCommand] = useState(false);
  const files = useFiles(stageId);
  const isStarted = state !== null;
  const isWorking = isStarted && isActive(state);
  const message = { text, isCommand: wantsCommand && mayBeCommand(text) };
  const sending = useSending({ stageId, isStarted, message, files, begin }, (sent) => {
    forget(sent);
    setWantsCommand(false);
  });
  const change = (next: string) => {
    sending.textChanged();
    setText(next);
  };
  const completion = useTextCompletion({
    text,
    isOn: isStarted,
    change,
    place: { stageId },
    useSuggestions,
    commandChosen: () => setWantsCommand(true),
  });
  const hintId = useId();
  const onKeyDown = (event: KeyboardEvent) => {
    if (completion.onKeyDown(event)) return;
    const mode = modeOfKey(event.nativeEvent, isWorking);
    if (mode === null) return;
    event.preventDefault();
    sending.submit(mode);
  };
  return (
    <DropZone off={!isStarted} add={files.add}>
      {sending.error !== null && <ErrorNote lead="Not sent." error={sending.error} stageId={stageId} />}
      {files.problem !== null && <FailureNote>{files.problem}</FailureNote>}
      {files.note !== null && <Note>{files.note}</Note>}
      <AttachedFiles stageId={stageId} kept={files.kept} uploading={files.uploading} />
      <CompletionList {...completion.list} />
      <div className={css.row} data-composer>
        <AttachButton off={!isStarted} add={files.add} />
        <Textarea
          className={css.text}
          aria-label="Message"
          aria-describedby={hintId}
          {...completion.field}
          placeholder={placeholderOf(isStarted, isChecking)}
          autosize
          minRows={1}
          maxRows={10}
          value={text}
          disabled={!isStarted}
          readOnly={sending.isPending}
          onKeyDown={onKeyDown}
          onPaste={(event) => takeFiles(event, event.clipboardData, files.add)}
        />
        <SendButton
          off={sending.isOff}
          busy={sending.isBusy}
          isWorking={isWorking}
          isChecking={isChecking}
          submit={sending.submit}
        />
      </div>
      <div className={css.foot}>
        {mayBeCommand(text) && <CommandSwitch isOn={wantsCommand} set={setWantsCommand} />}
        <div className={css.hint} id={hintId}>
          {composerText(state, { isDone, isAlarmed, isInTerminal, isPaused, isChecking })}
        </div>
        {chips}
      </div>
    </DropZone>
  );
}

const placeholderOf = (isStarted: boolean, isChecking: boolean): string =>
  isStarted ? (isChecking ? 'Message, sent after the check' : 'Message') : 'Start the stage to write to Claude';

const CommandSwitch = ({ isOn, set }: { isOn: boolean; set: (isOn: boolean) => void }) => (
  <Checkbox size="xs" label="Run as a command" checked={isOn} onChange={(event) => set(event.currentTarget.checked)} />
);
