import {
  type Attachment,
  type Draft,
  FILES_KEY,
  AttachedFile as FileInfo,
  filesProblem,
  isChecking as hasCheck,
  isActive,
  isPaused,
  MessageId,
  type MessageMode,
  REPLACED_PREFIX,
  ReplacedMessage,
  type SessionState,
  type StageId,
} from '@callboard/contract';
import { ActionIcon, Button, Checkbox, Group, Menu, Text, Textarea } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconChevronUp, IconSend2 } from '@tabler/icons-react';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useState } from 'react';
import { z } from 'zod';
import { boardQuery, stageOf } from '../../data/queries.ts';
import { draftOf, draftsQuery, putDraft } from '../../data/server-drafts.ts';
import { sendMessage } from '../../data/stage-commands.ts';
import { useCommand } from '../../data/use-command.tsx';
import { useSuggestions } from '../../data/use-suggestions.ts';
import { client, errorText } from '../../lib/api-client.ts';
import { mayBeCommand } from '../../lib/completion.ts';
import { leastSize, notesOn, type ReadFile, readFile } from '../../lib/files.ts';
import { count } from '../../lib/format.ts';
import { UPLOAD_MS, untilDelivered } from '../../lib/until-delivered.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { AttachButton, AttachedFile, DropZone, FileList, isImage, takeFiles } from '../../ui/attached-files.tsx';
import { ErrorNote, FailureNote, Note } from '../../ui/notes.tsx';
import { Hint, Panel } from '../../ui/primitives.tsx';
import { KeyHint } from '../../ui/shortcuts.tsx';
import { CompletionList, useTextCompletion } from '../../ui/text-completion.tsx';
import { composerText, modeOfKey, sendModes } from './composer-text.ts';
import { useMessageDraft, useUnsent } from './message-draft.ts';
import { MessageQueue, useSendMessage } from './message-queue.tsx';
import css from './messages.module.css';

/** Where a person writes to the stage's Claude, with the queued messages above. `chips`: the session's switches. */
export function MessageBox({ stageId, chips }: { stageId: StageId; chips?: ReactNode }) {
  const { data: state = null } = useQuery({
    ...boardQuery,
    select: (view) => stageOf(stageId)(view)?.session?.state ?? null,
  });
  const { data: isDone = false } = useQuery({
    ...boardQuery,
    select: (view) => (stageOf(stageId)(view)?.completedAt ?? null) !== null,
  });
  const { data: isAlarmed = false } = useQuery({
    ...boardQuery,
    select: (view) => (stageOf(stageId)(view)?.session?.alarm ?? null) !== null,
  });
  const { data: isInTerminal = false } = useQuery({
    ...boardQuery,
    select: (view) => (stageOf(stageId)(view)?.session?.terminal ?? null) !== null,
  });
  const { data: isStagePaused = false } = useQuery({
    ...boardQuery,
    select: (view) => {
      const stage = stageOf(stageId)(view);
      return stage !== undefined && stage.completedAt === null && isPaused(stage, view.holds);
    },
  });
  const { data: isChecking = false } = useQuery({
    ...boardQuery,
    select: (view) => {
      const session = stageOf(stageId)(view)?.session ?? null;
      return session !== null && hasCheck(session);
    },
  });
  const isWorking = state !== null && isActive(state);
  return (
    <section className={css.box} aria-label="Write to Claude">
      {state !== null && <ReplacedMessages stageId={stageId} isWorking={isWorking} />}
      {state !== null && (
        <MessageQueue
          stageId={stageId}
          isWorking={isWorking}
          isChecking={isChecking}
          isInTerminal={isInTerminal}
          isPaused={isStagePaused}
        />
      )}
      <Composer
        stageId={stageId}
        state={state}
        isDone={isDone}
        isAlarmed={isAlarmed}
        isInTerminal={isInTerminal}
        isPaused={isStagePaused}
        isChecking={isChecking}
        chips={chips}
      />
    </section>
  );
}

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
function Composer({ stageId, state, isDone, isAlarmed, isInTerminal, isPaused, isChecking, chips }: ComposerProps) {
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
  const hint = isStarted ? composerText(state, { isDone, isAlarmed, isInTerminal, isPaused, isChecking }) : '';
  const hasRoom = useMediaQuery('(min-width: 768px)') ?? false;
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
      <Group className={css.composer} wrap="nowrap" align="flex-end">
        <AttachButton off={!isStarted} add={files.add} />
        <Textarea
          flex={1}
          aria-label="Message"
          aria-describedby={hint === '' ? undefined : hintId}
          {...completion.field}
          placeholder={isStarted ? placeholderOf(isWorking, isChecking, hasRoom) : 'Start the stage to write to Claude'}
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
      </Group>
      <Group gap="4px 12px">
        {mayBeCommand(text) && <CommandSwitch isOn={wantsCommand} set={setWantsCommand} />}
        {hint !== '' && (
          <Hint size="xs" flex="1 1 200px" id={hintId}>
            {hint}
          </Hint>
        )}
        {chips}
      </Group>
    </DropZone>
  );
}

/** When a message goes that is sent with Enter, and what else can be typed. */
function placeholderOf(isWorking: boolean, isChecking: boolean, hasRoom: boolean): string {
  const text = isChecking
    ? 'Message, sent after the check'
    : isWorking
      ? 'Message, sent when this turn ends'
      : 'Message Claude';
  return hasRoom ? `${text}   / commands   @ files` : text;
}

const CommandSwitch = ({ isOn, set }: { isOn: boolean; set: (isOn: boolean) => void }) => (
  <Checkbox size="xs" label="Run as a command" checked={isOn} onChange={(event) => set(event.currentTarget.checked)} />
);

const NO_FILES: readonly ReadFile[] = [];

/** A file's content, for its thumbnail. */
const draftFileQuery = (stageId: StageId, fileId: string) =>
  queryOptions({
    queryKey: ['draft-file', stageId, fileId],
    queryFn: async ({ signal }): Promise<Attachment> =>
      (await client.command('get_draft_file', { stageId, fileId }, { signal })).file,
  });

/**
 * The files of the stage's next message: those `kept` by the server, the same on all screens, and those being uploaded.
 * `problem` says why the last ones were not accepted.
 */
function useFiles(stageId: StageId) {
  const cache = useQueryClient();
  const { data: draft } = useQuery({ ...draftsQuery(stageId), select: draftOf(FILES_KEY) });
  const kept = z
    .array(FileInfo)
    .catch([])
    .parse(draft?.value ?? []);
  const uploading = useUnsent(({ files }) => files[stageId] ?? NO_FILES);
  const [problem, setProblem] = useState<string | null>(null);
  const [note, setNote] = useState<string | null>(null);
  /** How many batches of added files are not fully read and uploaded yet. */
  const [adding, setAdding] = useState(0);

  async function save(file: ReadFile): Promise<ReadFile> {
    const { fileId, content } = file;
    const { addFile, removeFile } = useUnsent.getState();
    addFile(stageId, file);
    cache.setQueryData(draftFileQuery(stageId, fileId).queryKey, content);
    try {
      const send = (_attempt: number, signal: AbortSignal) =>
        client.command('add_draft_file', { stageId, fileId, file: content }, { signal });
      await untilDelivered(send, { attemptMs: UPLOAD_MS });
      await cache.invalidateQueries({ queryKey: draftsQuery(stageId).queryKey });
      return file;
    } catch (error) {
      throw new Error(`${content.name} was not added. ${errorText(error)}`, { cause: error });
    } finally {
      removeFile(stageId, fileId);
    }
  }

  async function take(more: File[]): Promise<void> {
    const refused = filesProblem([...kept, ...uploading], more.map(leastSize));
    setProblem(refused);
    setNote(null);
    if (refused !== null) return;
    setAdding((times) => times + 1);
    const results = await Promise.allSettled(more.map(async (file) => save(await readFile(file))));
    const problems = results.flatMap((result) => (result.status === 'rejected' ? [errorText(result.reason)] : []));
    if (problems.length > 0) setProblem(problems.join(' '));
    setNote(notesOn(results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))));
    setAdding((times) => times - 1);
  }

  return {
    kept,
    uploading,
    problem,
    /** What to know about the last ones that were accepted; null if there is nothing. */
    note,
    /** Whether no upload is pending. Files that were not accepted are reported in `problem` by then. */
    areUploaded: adding === 0 && uploading.length === 0,
    add: (more: File[]) => void take(more),
    /** The files went with a message. The server will say so soon; this screen knows it already. */
    sent(fileIds: readonly string[]) {
      setNote(null);
      cache.setQueryData(draftsQuery(stageId).queryKey, (drafts) =>
        drafts?.map((one) =>
          one.key === FILES_KEY ? { ...one, value: kept.filter(({ fileId }) => !fileIds.includes(fileId)) } : one,
        ),
      );
    },
  };
}

/** Removes a file again, on all screens. */
const useRemoveFile = (stageId: StageId) =>
  useCommand({
    run: (fileId: string) => client.command('remove_draft_file', { stageId, fileId }),
    failed: 'The file was not removed',
  });

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
function useSending({ stageId, isStarted, message, files, begin }: SendingInput, sent: (messageId: MessageId) => void) {
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

interface AttachedFilesProps {
  stageId: StageId;
  kept: readonly FileInfo[];
  uploading: readonly ReadFile[];
}

/** The files of the message, each with its size and a button to remove it. */
function AttachedFiles({ stageId, kept, uploading }: AttachedFilesProps) {
  const adding = uploading.filter((file) => !kept.some((other) => other.fileId === file.fileId));
  if (kept.length + adding.length === 0) return null;
  return (
    <FileList>
      {kept.map((file) => (
        <SavedFile key={file.fileId} stageId={stageId} file={file} />
      ))}
      {adding.map(({ fileId, size, content }) => (
        <AttachedFile key={fileId} file={{ ...content, size }} content={content} isAdding />
      ))}
    </FileList>
  );
}

function SavedFile({ stageId, file }: { stageId: StageId; file: FileInfo }) {
  const remove = useRemoveFile(stageId);
  const { data: content = null } = useQuery({ ...draftFileQuery(stageId, file.fileId), enabled: isImage(file) });
  return (
    <AttachedFile
      file={file}
      content={content}
      isRemoving={remove.isPending}
      remove={() => remove.mutate(file.fileId)}
    />
  );
}

interface SendButtonProps {
  off: boolean;
  busy: boolean;
  /** While Claude works, there is more than one way to send. */
  isWorking: boolean;
  isChecking: boolean;
  submit: (mode: MessageMode) => void;
}

function SendButton({ off, busy, isWorking, isChecking, submit }: SendButtonProps) {
  return (
    <Button.Group>
      <Button
        onClick={() => submit('append')}
        disabled={off}
        loading={busy}
        leftSection={<IconSend2 size={16} />}
        title={isWorking ? 'Queue it (Enter)' : 'Send (Enter)'}
      >
        Send
      </Button>
      {isWorking && (
        <Menu position="top-end">
          <Menu.Target>
            <ActionIcon
              variant="filled"
              size={32}
              aria-label="Other ways to send"
              disabled={off}
              ml={1}
              bdrs="0 6px 6px 0"
            >
              <IconChevronUp size={16} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            {sendModes(isChecking).map(({ mode, label, does, keys }) => (
              <Menu.Item
                key={mode}
                onClick={() => submit(mode)}
                rightSection={keys === '' ? null : <KeyHint>{keys}</KeyHint>}
              >
                {label}
                <Text span size="xs" c="dimmed" display="block">
                  {does}
                </Text>
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
    </Button.Group>
  );
}

interface ReplacedMessagesProps {
  stageId: StageId;
  isWorking: boolean;
}

/** Messages that were replaced by another one. They are kept until a person sends or discards them. */
function ReplacedMessages({ stageId, isWorking }: ReplacedMessagesProps) {
  const saved = useReplacedMessages(stageId);
  if (saved.length === 0) return null;
  return (
    <section aria-label="Replaced messages">
      <Hint mb="xs">Replaced: kept here, and not sent unless you say so.</Hint>
      <ul className={css.queue}>
        {saved.map((message) => (
          <ReplacedRow key={message.key} stageId={stageId} message={message} isWorking={isWorking} />
        ))}
      </ul>
    </section>
  );
}

function ReplacedRow({ stageId, message, isWorking }: ReplacedMessagesProps & { message: StoredReplacedMessage }) {
  const send = useSendReplaced(stageId);
  const discard = useDiscardReplaced(stageId);
  const busy = send.isPending || discard.isPending;
  const off = !useCanCommand() || busy;
  const { files, isCommand } = message;
  const extras = [
    isCommand ? 'to run as a command' : '',
    files.length > 0 ? `with ${count(files.length, 'file')}: ${files.map(({ name }) => name).join(', ')}` : '',
  ].filter((word) => word !== '');
  return (
    <Panel
      component="li"
      direction="row"
      align="flex-start"
      wrap="wrap"
      p="4px 4px 4px 12px"
      c="dimmed"
      aria-busy={busy}
    >
      <Text component="div" className="pre-wrap" flex="1 1 240px" miw={0} py="xs">
        {message.text}
        {extras.length > 0 && (
          <Text span size="xs" c="dimmed" display="block">
            {extras.join(' · ')}
          </Text>
        )}
      </Text>
      <Group gap="xs" ml="auto" wrap="nowrap">
        <Button
          size="compact-sm"
          variant="default"
          disabled={off}
          loading={send.isPending}
          onClick={() => send.mutate(message)}
        >
          {isWorking ? 'Queue it after all' : 'Send it after all'}
        </Button>
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          disabled={off}
          loading={discard.isPending}
          onClick={() => discard.mutate(message)}
        >
          Discard
        </Button>
      </Group>
    </Panel>
  );
}

const NONE: readonly StoredReplacedMessage[] = [];

/** The stage's replaced messages, the same on all screens. */
function useReplacedMessages(stageId: StageId): readonly StoredReplacedMessage[] {
  const { data = NONE } = useQuery({ ...draftsQuery(stageId), select: replacedMessages });
  return data;
}

/** Sends a replaced message with its files, and removes it here. Its id makes a retry harmless. */
function useSendReplaced(stageId: StageId) {
  const cache = useQueryClient();
  return useCommand({
    run: async ({ messageId, text, isCommand, files }: StoredReplacedMessage) => {
      const fileIds = files.map(({ fileId }) => fileId);
      await sendMessage(stageId, { message: text, messageId, mode: 'append', isCommand, files: fileIds });
      await cache.invalidateQueries({ queryKey: draftsQuery(stageId).queryKey });
    },
    failed: 'The message was not sent, and is still kept',
  });
}

/** Discards a replaced message. */
function useDiscardReplaced(stageId: StageId) {
  const cache = useQueryClient();
  return useCommand({
    run: ({ key }: StoredReplacedMessage) => putDraft(cache, { stageId, key, value: null }),
    failed: 'The message was not discarded',
  });
}

/** A replaced message, with the id under which it can still be sent. */
export interface StoredReplacedMessage extends ReplacedMessage {
  messageId: MessageId;
  /** The key of the draft it is stored as. */
  key: string;
}

const Id = z.uuid().pipe(MessageId);

/** The replaced messages that were neither sent nor discarded, in their queue order. */
export const replacedMessages = (drafts: readonly Draft[]): StoredReplacedMessage[] =>
  drafts
    .filter(({ key }) => key.startsWith(REPLACED_PREFIX))
    .flatMap(({ key, value }) => {
      const messageId = Id.safeParse(key.slice(REPLACED_PREFIX.length));
      const message = ReplacedMessage.safeParse(value);
      return messageId.success && message.success ? [{ ...message.data, messageId: messageId.data, key }] : [];
    })
    .sort((a, b) => a.position - b.position);
