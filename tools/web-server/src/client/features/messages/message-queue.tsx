import type { MessageId, MessageMode, MessagePatch, QueuedMessage, StageId } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { ActionIcon, Button, Group, Menu, Stack, Text, Textarea } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconArrowDown, IconArrowUp, IconDots, IconPencil, IconPlayerTrackNext, IconX } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { boardQuery, queueQuery, stageOf } from '../../data/queries.ts';
import { sendMessage } from '../../data/stage-commands.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { count } from '../../lib/format.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { CommandText, ErrorNote } from '../../ui/notes.tsx';
import { Hint, Panel } from '../../ui/primitives.tsx';
import { isComposing } from '../../ui/shortcuts.tsx';
import { delayedText, nextGoes } from './composer-text.ts';
import { newMessageId } from './message-draft.ts';
import css from './messages.module.css';

interface MessageQueueProps {
  stageId: StageId;
  isWorking: boolean;
  /** Whether a check of the finished phase is due or runs. */
  isChecking: boolean;
  /** Whether the conversation was left to a terminal. */
  isInTerminal: boolean;
  isPaused: boolean;
}

/** The queued messages, in the order they will be sent. */
export function MessageQueue({ stageId, isWorking, isChecking, isInTerminal, isPaused }: MessageQueueProps) {
  const { data } = useQuery(queueQuery(stageId));
  const list = useNewestInSight(data?.queue.length ?? null);
  if (data === undefined || data.queue.length === 0) return null;
  return (
    <section aria-label="Queued messages">
      <Hint mb="xs">
        {count(data.queue.length, 'message')} queued
        {isInTerminal && ': the next one is sent when the stage is taken back from the terminal'}
        {!isInTerminal && !isPaused && isWorking && !data.held && `: ${nextGoes(isChecking)}`}
        {!isInTerminal && isPaused && !data.held && ': sent when the stage is released'}
      </Hint>
      {data.held && !isInTerminal && <Held stageId={stageId} />}
      <Paused />
      <ol className={css.queue} ref={list}>
        {data.queue.map((message: QueuedMessage, place) => (
          <QueuedRow
            key={message.messageId}
            message={message}
            place={place}
            isLast={place === data.queue.length - 1}
            isWorking={isWorking}
            isPaused={isPaused}
          />
        ))}
      </ol>
    </section>
  );
}

/** Scrolls to a new message, unless the focus is in the list. `length` is null until it is known. */
function useNewestInSight(length: number | null) {
  const list = useRef<HTMLOListElement>(null);
  const before = useRef(length);
  useLayoutEffect(() => {
    const element = list.current;
    const hasGrown = before.current !== null && length !== null && length > before.current;
    before.current = length;
    if (!hasGrown || element === null || element.contains(document.activeElement)) return;
    element.lastElementChild?.scrollIntoView({ block: 'nearest' });
  }, [length]);
  return list;
}

/** Why nothing is delivered to any stage right now. */
function Paused() {
  const { data: paused = null } = useQuery({ ...boardQuery, select: (view) => view.paused });
  if (paused === null) return null;
  return (
    <Group justify="space-between" wrap="nowrap" gap="md" mb="sm" c="dimmed" fz="row">
      <p>
        <CommandText text={paused} />
      </p>
    </Group>
  );
}

function Held({ stageId }: { stageId: StageId }) {
  const release = useReleaseQueue(stageId);
  const canCommand = useCanCommand();
  const { data: session = null } = useQuery({
    ...boardQuery,
    select: (view) => stageOf(stageId)(view)?.session ?? null,
  });
  const isAlarmed = session?.alarm != null;
  const { why, action } = delayedText({
    isAlarmed,
    sinceAlarm: session?.heldSinceAlarm ?? false,
    resumes: session?.limitWait?.goesOnAt != null,
  });
  return (
    <Group justify="space-between" wrap="nowrap" gap="md" mb="sm" c="dimmed" fz="row">
      <p>{why}</p>
      {action !== null && (
        <Button
          flex="none"
          size="compact-sm"
          variant="default"
          disabled={!canCommand}
          loading={release.isPending}
          onClick={() => release.mutate(undefined)}
        >
          {action}
        </Button>
      )}
    </Group>
  );
}

export interface Outgoing {
  message: string;
  messageId: MessageId;
  mode: MessageMode;
  isCommand: boolean;
  /** Ids of its files on the server. */
  files: readonly string[];
}

/**
 * Sends a message to the stage's session. The caller shows a failure beside the text, which is kept. The same message
 * sent again has the same id, so that it does not arrive twice if only the reply was lost.
 */
export const useSendMessage = (stageId: StageId, done: (sent: Outgoing) => void) =>
  useCommand({
    run: async (outgoing: Outgoing) => {
      const body = { ...outgoing, files: [...outgoing.files] };
      try {
        return await sendMessage(stageId, body);
      } catch (error) {
        // Another device sent a message of this draft before more was typed here: this is another one.
        if (!(error instanceof TransportError) || error.code !== 'message_id_reused') throw error;
        return sendMessage(stageId, { ...body, messageId: newMessageId() });
      }
    },
    done: (_, outgoing) => done(outgoing),
  });

/** A command on the queue. The queue is reloaded afterwards. */
function useQueueCommand<Input>(stageId: StageId, run: (input: Input) => Promise<unknown>, failed?: string) {
  const cache = useQueryClient();
  return useCommand({
    run: async (input: Input) => {
      await run(input);
      await cache.invalidateQueries({ queryKey: queueQuery(stageId).queryKey });
    },
    ...(failed !== undefined && { failed }),
  });
}

interface Change {
  messageId: MessageId;
  patch: MessagePatch;
}

const change = (stageId: StageId) => (given: Change) => client.command('edit_queued', { stageId, ...given });

/** The caller shows a refusal beside the text. */
const useEditQueued = (stageId: StageId) => useQueueCommand(stageId, change(stageId));

const useMoveQueued = (stageId: StageId) => useQueueCommand(stageId, change(stageId), 'The message was not moved');

const useRemoveQueued = (stageId: StageId) =>
  useQueueCommand(
    stageId,
    (messageId: MessageId) => client.command('remove_queued', { stageId, messageId }),
    'The message was not removed',
  );

const useSendQueued = (stageId: StageId) =>
  useQueueCommand(
    stageId,
    (row: { messageId: MessageId; mode: 'steer' | 'now' }) => client.command('send_queued', { stageId, ...row }),
    'The message was not sent',
  );

const useReleaseQueue = (stageId: StageId) =>
  useQueueCommand(stageId, () => client.command('release_queue', { stageId }), 'The queue was not released');

interface QueuedRowProps {
  message: QueuedMessage;
  /** Counts from 0, the next message to be sent. */
  place: number;
  isLast: boolean;
  /** Whether a turn is running, into which a message can be steered. */
  isWorking: boolean;
  /** Whether it waits for the release of the stage. */
  isPaused: boolean;
}

/** A queued message with its actions. */
function QueuedRow({ message, place, isLast, isWorking, isPaused }: QueuedRowProps) {
  const { stageId, messageId } = message;
  const [editing, setEditing] = useState(false);
  const remove = useRemoveQueued(stageId);
  const move = useMoveQueued(stageId);
  const send = useSendQueued(stageId);
  const canCommand = useCanCommand();
  if (editing) return <QueuedEdit message={message} close={() => setEditing(false)} />;
  const busy = remove.isPending || move.isPending || send.isPending;
  return (
    <Panel
      component="li"
      direction="row"
      align="flex-start"
      p="4px 4px 4px 12px"
      bd="1px dashed var(--line-control)"
      aria-busy={busy}
    >
      <Text c="dimmed" lh="28px" aria-hidden>
        {place + 1}.
      </Text>
      <QueuedText text={message.text}>
        <Extras message={message} />
      </QueuedText>
      <QueuedActions
        off={!canCommand || busy}
        isFirst={place === 0}
        isLast={isLast}
        isWorking={isWorking}
        isPaused={isPaused}
        isSending={send.isPending}
        move={(by) => move.mutate({ messageId, patch: { place: place + by } })}
        edit={() => setEditing(true)}
        send={(mode) => send.mutate({ messageId, mode })}
        remove={() => remove.mutate(messageId)}
      />
    </Panel>
  );
}

function Extras({ message: { attachments, isCommand, by } }: { message: QueuedMessage }) {
  const text = [
    isCommand ? 'run as a command' : '',
    attachments.length > 0 ? `with ${count(attachments.length, 'file')}` : '',
    by === null ? '' : `by ${by}`,
  ].filter((word) => word !== '');
  return text.length === 0 ? null : (
    <Text span size="xs" c="dimmed" display="block">
      {text.join(' · ')}
    </Text>
  );
}

/** The first lines of a message, and all of it on demand. */
function QueuedText({ text, children }: { text: string; children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const [isLong, setLong] = useState(false);
  const [isWhole, setWhole] = useState(false);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || isWhole) return;
    const measure = () => setLong(element.scrollHeight > element.clientHeight + 2);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [isWhole]);
  return (
    <Text component="div" className="pre-wrap" flex={1} miw={0} py="xs">
      <Text component="div" inherit lineClamp={isWhole ? undefined : 3} ref={box}>
        {text}
      </Text>
      {isLong && (
        <Button size="compact-xs" variant="subtle" ml={-8} aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : 'Show all'}
        </Button>
      )}
      {children}
    </Text>
  );
}

interface QueuedActionsProps {
  off: boolean;
  isFirst: boolean;
  isLast: boolean;
  /** Whether a turn is running, into which a message can be steered. */
  isWorking: boolean;
  /** Whether it waits for the release of the stage. */
  isPaused: boolean;
  isSending: boolean;
  move: (by: -1 | 1) => void;
  edit: () => void;
  send: (mode: 'now' | 'steer') => void;
  remove: () => void;
}

/** The actions on a queued message: side by side, or on a phone in one menu. */
function QueuedActions(props: QueuedActionsProps) {
  const hasRoom = useMediaQuery('(min-width: 768px)', true, { getInitialValueInEffect: false });
  const { off, isFirst, isLast, isWorking, isSending } = props;
  if (!hasRoom)
    return (
      <Menu position="top-end">
        <Menu.Target>
          <ActionIcon
            variant="subtle"
            color="gray"
            size={32}
            aria-label="What to do with it"
            disabled={off}
            loading={isSending}
          >
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <SendItems {...props} />
          <Menu.Item leftSection={<IconPencil size={16} />} onClick={props.edit}>
            Edit
          </Menu.Item>
          <Menu.Item leftSection={<IconArrowUp size={16} />} disabled={isFirst} onClick={() => props.move(-1)}>
            Move up
          </Menu.Item>
          <Menu.Item leftSection={<IconArrowDown size={16} />} disabled={isLast} onClick={() => props.move(1)}>
            Move down
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item leftSection={<IconX size={16} />} onClick={props.remove}>
            Remove
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    );
  return (
    <Group gap={0} wrap="nowrap">
      <RowButton label="Move up" off={off || isFirst} run={() => props.move(-1)}>
        <IconArrowUp size={16} />
      </RowButton>
      <RowButton label="Move down" off={off || isLast} run={() => props.move(1)}>
        <IconArrowDown size={16} />
      </RowButton>
      <RowButton label="Edit queued message" off={off} run={props.edit}>
        <IconPencil size={16} />
      </RowButton>
      <Menu>
        <Menu.Target>
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label="Send queued message"
            title={isWorking ? 'Send now or steer' : 'Send now'}
            disabled={off}
            loading={isSending}
          >
            <IconPlayerTrackNext size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <SendItems {...props} />
        </Menu.Dropdown>
      </Menu>
      <RowButton label="Remove queued message" off={off} run={props.remove}>
        <IconX size={16} />
      </RowButton>
    </Group>
  );
}

function SendItems({ isWorking, isPaused, send }: QueuedActionsProps) {
  return (
    <>
      <Menu.Item onClick={() => send('now')}>
        Send now{isWorking && ', interrupting Claude'}
        {isPaused && ', releasing the stage'}
      </Menu.Item>
      {isWorking && <Menu.Item onClick={() => send('steer')}>Steer: into the running turn</Menu.Item>}
    </>
  );
}

function RowButton(props: { label: string; off: boolean; run: () => void; children: ReactNode }) {
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={props.label}
      title={props.label}
      disabled={props.off}
      onClick={props.run}
    >
      {props.children}
    </ActionIcon>
  );
}

/** A queued message while it is edited. */
function QueuedEdit({ message, close }: { message: QueuedMessage; close: () => void }) {
  const row = useRef<HTMLLIElement>(null);
  const [text, setText] = useState(message.text);
  const edit = useEditQueued(message.stageId);
  const canCommand = useCanCommand();
  const isOff = !canCommand || text.trim() === '' || edit.isPending;
  const save = () =>
    !isOff && edit.mutate({ messageId: message.messageId, patch: { message: text } }, { onSuccess: close });
  useLayoutEffect(() => {
    row.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  return (
    <li ref={row}>
      <Panel direction="row" align="flex-start" p="4px 4px 4px 12px" bd="1px dashed var(--line-control)">
        <Stack gap="xs" flex={1} miw={0} py="xs">
          <Textarea
            aria-label="Queued message"
            autosize
            maxRows={8}
            value={text}
            autoFocus
            onChange={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Escape') {
                event.preventDefault();
                close();
              } else if (event.key === 'Enter' && !event.shiftKey && !isComposing(event.nativeEvent)) {
                event.preventDefault();
                save();
              }
            }}
          />
          {edit.isError && <ErrorNote error={edit.error} />}
          <Group gap="xs" pos="sticky" bottom={0} py="xs" bg="var(--surface)">
            <Button size="compact-sm" disabled={isOff} loading={edit.isPending} onClick={save}>
              Save
            </Button>
            <Button size="compact-sm" variant="default" onClick={close}>
              Cancel
            </Button>
          </Group>
        </Stack>
      </Panel>
    </li>
  );
}
