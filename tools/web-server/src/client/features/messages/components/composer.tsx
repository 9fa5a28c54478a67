import { isActive, type MessageMode, type SessionState, type StageId } from '@callboard/contract';
import { Checkbox, Textarea } from '@mantine/core';
import { type ClipboardEvent, type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import { errorText } from '../../../lib/api-client.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { FailureNote } from '../../../ui/note.tsx';
import { useFiles } from '../api/use-files.ts';
import { useMessageDraft } from '../api/use-message-draft.ts';
import { useSendMessage } from '../api/use-messages.ts';
import { useSuggestions } from '../api/use-suggestions.ts';
import { completingAt, withMention } from '../model/completion.ts';
import { composerWords, modeOfKey } from '../model/composer-words.ts';
import { mayBeCommand } from '../model/slash-commands.ts';
import { AttachButton, AttachedFiles } from './attachments.tsx';
import { CompletionList, useCompletions } from './completions.tsx';
import css from './messages.module.css';
import { SendButton } from './send-button.tsx';

interface ComposerProps {
  stageId: StageId;
  state: SessionState | null;
  /** Of the stage. */
  isDone: boolean;
  isAlarmed: boolean;
}

/** The text stays until the server has it. */
export function Composer({ stageId, state, isDone, isAlarmed }: ComposerProps) {
  const { text, setText, forget } = useMessageDraft(stageId);
  const [wantsCommand, setWantsCommand] = useState(false);
  /** How it is to be sent once its files are with the server; null when nothing was pressed, or typed since. */
  const [sendsWhenThere, setSendsWhenThere] = useState<MessageMode | null>(null);
  const files = useFiles(stageId);
  const send = useSendMessage(stageId, (sent) => {
    forget(sent.message);
    files.sent(sent.files);
    setWantsCommand(false);
  });
  const canCommand = useCanCommand();
  const hintId = useId();
  const isStarted = state !== null;
  const isOff = !isStarted || !canCommand || send.isPending || text.trim() === '';
  const isWorking = state !== null && isActive(state);
  const isCommand = wantsCommand && mayBeCommand(text);

  const submit = (mode: MessageMode) => {
    if (isOff) return;
    if (files.areUploaded)
      send.mutate({ message: text, mode, isCommand, files: files.kept.map(({ fileId }) => fileId) });
    else setSendsWhenThere(mode);
  };
  const isReady = files.areUploaded && canCommand;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the moment the last file is there, or was not taken
  useEffect(() => {
    if (sendsWhenThere === null || !isReady) return;
    setSendsWhenThere(null);
    if (files.problem === null) submit(sendsWhenThere);
  }, [isReady]);
  const change = (next: string) => {
    if (send.isError) send.reset();
    setSendsWhenThere(null);
    setText(next);
  };
  const { box, caret, caretMoved, put } = useCaret(text, change);
  const asked = isStarted ? completingAt(text, caret) : null;
  const { found, note } = useSuggestions(stageId, asked);
  const complete = useCompletions({
    asked: asked === null ? '' : `${asked.kind} ${asked.typed}`,
    found,
    choose({ value }) {
      if (asked?.kind === 'file') put(withMention(text, asked, value));
      if (asked?.kind !== 'command') return;
      change(`/${value} `);
      setWantsCommand(true);
    },
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
        if (isStarted) files.add(event.dataTransfer.files);
      }}
    >
      {send.isError && <FailureNote>Not sent. {errorText(send.error)}</FailureNote>}
      {files.problem !== null && <FailureNote>{files.problem}</FailureNote>}
      <AttachedFiles stageId={stageId} kept={files.kept} uploading={files.uploading} />
      <CompletionList completions={complete} label={asked?.kind === 'file' ? 'Files' : 'Commands'} note={note} />
      <div className={css.row}>
        <AttachButton off={!isStarted} add={files.add} />
        <Textarea
          ref={box}
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
          onChange={(event) => {
            change(event.currentTarget.value);
            caretMoved();
          }}
          onSelect={caretMoved}
          onKeyDown={onKeyDown}
          onPaste={(event: ClipboardEvent) => {
            if (event.clipboardData.files.length === 0) return;
            event.preventDefault();
            files.add(event.clipboardData.files);
          }}
        />
        <SendButton
          off={isOff}
          busy={send.isPending || sendsWhenThere !== null}
          isWorking={isWorking}
          submit={submit}
        />
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
          {composerWords(state, { isDone, isAlarmed })}
        </div>
      </div>
    </div>
  );
}

/** Where the caret stands in the text box, and a way to put it somewhere together with a new text. */
function useCaret(text: string, change: (text: string) => void) {
  const box = useRef<HTMLTextAreaElement>(null);
  const wanted = useRef<number | null>(null);
  const [caret, setCaret] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once the text that it belongs to is in the box
  useLayoutEffect(() => {
    if (wanted.current !== null) box.current?.setSelectionRange(wanted.current, wanted.current);
    wanted.current = null;
  }, [text]);
  return {
    box,
    caret: Math.min(caret, text.length),
    caretMoved: () => setCaret(box.current?.selectionEnd ?? 0),
    put(next: { text: string; caret: number }) {
      wanted.current = next.caret;
      setCaret(next.caret);
      change(next.text);
    },
  };
}
