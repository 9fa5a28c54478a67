import {
  awaitsTasks,
  type BackgroundTask,
  comingWakeUps,
  isCommandTask,
  type McpServer,
  type McpState,
  type SessionSummary,
  type StageId,
  type StageView,
  type TaskMark,
  type TaskOutput,
  type Todo,
} from '@callboard/contract';
import { Box, Button, Flex, Group, Stack, Text } from '@mantine/core';
import {
  IconAlarm,
  IconAlertTriangle,
  IconCircle,
  IconCircleCheck,
  IconInfoCircle,
  IconPlayerPlay,
  IconPlug,
  IconRobot,
  IconTerminal2,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import {
  mcpServersQuery,
  taskOutputQuery,
  useMarkTask,
  useReconnectMcp,
  useStopTask,
} from '../../data/session-commands.ts';
import { count, formatSize } from '../../lib/format.ts';
import { gapSentences, gapsText } from '../../lib/stage-status.ts';
import { wakeTime } from '../../lib/wake-text.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote, Note } from '../../ui/notes.tsx';
import { OutputScreen } from '../../ui/output-screen.tsx';
import { Hint, IconLine } from '../../ui/primitives.tsx';
import css from '../../ui/stage-head.module.css';
import { Seen, TimeSince } from '../../ui/text.tsx';
import { Fold } from '../transcript/item-parts.tsx';

/** What this Claude Code lacks, Claude's to-do list, background tasks and MCP servers, each folded to one line. */
export function SessionPanels({ stage }: { stage: StageView }) {
  const { session } = stage;
  if (session === null) return null;
  const gaps = gapsText(session);
  return (
    <div className={css.panels}>
      {gaps !== null && <GapsPanel id={stage.id} text={gaps} session={session} />}
      {session.todos.length > 0 && <TodoPanel id={stage.id} todos={session.todos} />}
      <TaskPanel stageId={stage.id} session={session} />
      <McpPanel stage={stage} />
    </div>
  );
}

function GapsPanel({ id, text, session }: { id: string; text: string; session: SessionSummary }) {
  return (
    <section aria-label="Claude Code">
      <Fold id={`gaps:${id}`} summary={text}>
        <Flex component="ul" direction="column" gap="xs">
          {gapSentences(session).map((sentence) => (
            <IconLine component="li" key={sentence}>
              <IconInfoCircle size={16} aria-hidden />
              <span>{sentence}</span>
            </IconLine>
          ))}
        </Flex>
        <Text mt="sm">
          To update, run <code>claude update</code>. This stage uses the new release from its next start.
        </Text>
      </Fold>
    </section>
  );
}

const ICONS = { pending: IconCircle, in_progress: IconPlayerPlay, completed: IconCircleCheck };
const TEXTS = { pending: 'to do', in_progress: 'being done', completed: 'done' };

function TodoPanel({ id, todos }: { id: string; todos: readonly Todo[] }) {
  const done = todos.filter((todo) => todo.status === 'completed').length;
  const current = todos.find((todo) => todo.status === 'in_progress');
  const summary = `To do: ${done} of ${todos.length} done${current === undefined ? '' : `, now: ${current.content}`}`;
  return (
    <section aria-label="To do">
      <Fold id={`todo:${id}`} summary={summary}>
        <Flex component="ul" direction="column" gap="xs">
          {todos.map((todo, index) => {
            const Icon = ICONS[todo.status];
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their place
              <IconLine component="li" key={index} fw={todo.status === 'in_progress' ? 500 : undefined}>
                <Icon size={16} data-tone={todo.status === 'completed' ? 'done' : undefined} aria-hidden />
                <span>
                  {todo.content} <span className="visually-hidden">({TEXTS[todo.status]})</span>
                </span>
              </IconLine>
            );
          })}
        </Flex>
      </Fold>
    </section>
  );
}

/** The session's MCP servers, folded to one line; each can be reconnected. */
function McpPanel({ stage }: { stage: StageView }) {
  const servers = stage.session?.mcpServers ?? [];
  if (servers.length === 0) return null;
  return (
    <section aria-label="MCP servers">
      <Fold id={`mcp:${stage.id}`} summary={<span className="truncate">{mcpSummary(servers)}</span>}>
        <Servers stage={stage} />
      </Fold>
    </section>
  );
}

const MCP_ICONS: Partial<Record<McpState, { Icon: typeof IconPlug; tone?: 'done' | 'fail' }>> = {
  connected: { Icon: IconCircleCheck, tone: 'done' },
  failed: { Icon: IconAlertTriangle, tone: 'fail' },
  'needs-auth': { Icon: IconAlertTriangle, tone: 'fail' },
};

function Servers({ stage }: { stage: StageView }) {
  const { data, error, refetch } = useQuery(mcpServersQuery(stage.id, stage.session?.mcpServers ?? []));
  const reconnect = useReconnectMcp(stage.id);
  const canCommand = useCanCommand();
  const busy = reconnect.isPending ? reconnect.variables : null;
  return (
    <>
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} stageId={stage.id} />}
      <Flex component="ul" direction="column" gap="sm">
        {data?.map((server) => (
          <IconLine component="li" wrap="wrap" key={server.name}>
            <ServerIcon server={server} />
            <ServerText server={server} />
            {mayReconnect(server) && (
              <Group>
                <Button
                  size="compact-sm"
                  variant="default"
                  aria-label={`Reconnect ${server.name}`}
                  disabled={!canCommand || (busy !== null && busy !== server.name)}
                  loading={busy === server.name}
                  onClick={() => reconnect.mutate(server.name)}
                >
                  Reconnect
                </Button>
              </Group>
            )}
          </IconLine>
        ))}
      </Flex>
    </>
  );
}

function ServerIcon({ server: { state } }: { server: McpServer }) {
  const { Icon, tone } = MCP_ICONS[state] ?? { Icon: IconPlug };
  return <Icon size={16} data-tone={tone} aria-hidden />;
}

function ServerText({ server }: { server: McpServer }) {
  const facts = mcpFacts(server);
  return (
    <Box flex="1 1 240px" miw={0}>
      <div>
        <Text span inherit fw={500}>
          <Seen text={server.name} kind="prose" />
        </Text>{' '}
        <Hint span>{mcpStateLabel(server.state)}</Hint>
      </div>
      {facts !== null && (
        <Hint span>
          <Seen text={facts} kind="prose" />
        </Hint>
      )}
      {server.stderr !== undefined && <CodeBlock text={server.stderr} />}
    </Box>
  );
}

/** The kind of a task, in words. */
export function taskKind({ type }: Pick<BackgroundTask, 'type'>): string {
  if (type === 'local_bash') return 'Command';
  return type === 'local_agent' ? 'Subagent' : type.replaceAll('_', ' ');
}

/** Claude Code stores the output of commands only; a subagent's output is in the transcript. */
export const hasOutput = ({ type }: Pick<BackgroundTask, 'type'>): boolean => type === 'local_bash';

/** How much of the output is shown; null if all of it is. */
export function outputText({ isCut, totalBytes }: TaskOutput): string | null {
  return isCut ? `The end of ${formatSize(totalBytes)}` : null;
}

const STATES: Record<McpState, string> = {
  connected: 'connected',
  pending: 'connecting',
  failed: 'failed',
  'needs-auth': 'needs a login',
  disabled: 'turned off',
  unknown: 'state not known',
};

const mcpStateLabel = (state: McpState): string => STATES[state];

/** Problems come first. */
const ORDER: readonly McpState[] = ['failed', 'needs-auth', 'pending', 'unknown', 'connected', 'disabled'];

/** All servers in one line: "3 MCP servers: 1 failed, 2 connected". */
export function mcpSummary(servers: readonly Pick<McpServer, 'state'>[]): string {
  const states = ORDER.flatMap((state) => {
    const many = servers.filter((server) => server.state === state).length;
    return many === 0 ? [] : [servers.length === 1 ? STATES[state] : `${many} ${STATES[state]}`];
  });
  return `${count(servers.length, 'MCP server')}: ${states.join(', ')}`;
}

/** What a server offers, or why it offers nothing. */
export function mcpFacts({ state, tools, error }: Pick<McpServer, 'state' | 'tools' | 'error'>): string | null {
  if (state === 'connected') return tools === null ? null : count(tools, 'tool');
  if (state === 'needs-auth') return 'Run "claude" in a terminal and log in with /mcp, then reconnect.';
  if (state === 'disabled') return 'Turned off in Claude Code. Turn it on with /mcp in a terminal.';
  return error;
}

/** Whether a server can be reconnected: not while it connects, and not if a person turned it off. */
export const mayReconnect = ({ state }: Pick<McpServer, 'state'>): boolean =>
  state !== 'pending' && state !== 'disabled';

interface TaskPanelProps {
  stageId: StageView['id'];
  session: SessionSummary;
}

/** The background tasks: each can be stopped, a command can be marked, and its output can be read. */
function TaskPanel({ stageId, session }: TaskPanelProps) {
  const { backgroundTasks: tasks } = session;
  const isAsked = session.stalledSince !== null && awaitsTasks(session);
  /** The task whose output is open. It stays open after the task has ended. */
  const [shown, setShown] = useState<BackgroundTask | null>(null);
  const stop = useStopTask(stageId);
  const mark = useMarkTask(stageId);
  const canCommand = useCanCommand();
  const isRunning = ({ taskId }: BackgroundTask) => tasks.some((task) => task.taskId === taskId);
  const stopping = stop.isPending ? stop.variables : null;
  const wakeUps = comingWakeUps(session, new Date());
  return (
    <>
      {wakeUps.length > 0 && (
        <section aria-label="Planned wake-ups">
          <Flex component="ul" direction="column" gap="sm">
            {wakeUps.map((one) => (
              <IconLine component="li" key={one.id}>
                <IconAlarm size={16} aria-hidden />
                <Box flex="1 1 240px" miw={0}>
                  {wakeTime(one)}: <Seen text={one.what} kind="prose" />
                </Box>
              </IconLine>
            ))}
          </Flex>
        </section>
      )}
      {tasks.length > 0 && (
        <section aria-label="Background tasks">
          <Fold
            id={isAsked ? `asked:${stageId}` : `background:${stageId}`}
            openByItself={isAsked}
            summary={
              <span className="truncate">
                {count(tasks.length, 'background task')}:{' '}
                <Seen text={tasks.map((task) => task.description).join(', ')} kind="prose" />
              </span>
            }
          >
            {isAsked && (
              <Note>
                Claude has finished, but this still runs. Is it meant to keep running, like a dev server? Then nothing
                waits for it. If it is work, the stage goes on waiting.
              </Note>
            )}
            <Flex component="ul" direction="column" gap="sm">
              {tasks.map((task) => (
                <IconLine component="li" wrap="wrap" key={task.taskId}>
                  {hasOutput(task) ? <IconTerminal2 size={16} aria-hidden /> : <IconRobot size={16} aria-hidden />}
                  <TaskText task={task} />
                  <Group>
                    {hasOutput(task) && (
                      <Button
                        size="compact-sm"
                        variant="default"
                        aria-label={`Output of ${task.description}`}
                        onClick={() => setShown(task)}
                      >
                        Output
                      </Button>
                    )}
                    {isCommandTask(task) && (
                      <MarkButtons
                        task={task}
                        isAsked={isAsked}
                        disabled={!canCommand || mark.isPending}
                        set={(to) => mark.mutate({ taskId: task.taskId, mark: to })}
                      />
                    )}
                    <Button
                      size="compact-sm"
                      variant="default"
                      aria-label={`Stop ${task.description}`}
                      disabled={!canCommand || (stopping !== null && stopping !== task.taskId)}
                      loading={stopping === task.taskId}
                      onClick={() => stop.mutate(task.taskId)}
                    >
                      Stop
                    </Button>
                  </Group>
                </IconLine>
              ))}
            </Flex>
          </Fold>
        </section>
      )}
      {shown !== null && (
        <TaskOutputDialog
          stageId={stageId}
          task={shown}
          isRunning={isRunning(shown)}
          isStopping={stopping === shown.taskId}
          stop={canCommand ? () => stop.mutate(shown.taskId) : null}
          close={() => setShown(null)}
        />
      )}
    </>
  );
}

interface MarkButtonsProps {
  task: BackgroundTask;
  /** A person is asked about it, so there is an answer for work as well. */
  isAsked: boolean;
  disabled: boolean;
  set: (mark: TaskMark | null) => void;
}

function MarkButtons({ task: { mark, description }, isAsked, disabled, set }: MarkButtonsProps) {
  const button = { size: 'compact-sm', variant: 'default', disabled } as const;
  if (mark === 'keep-running')
    return (
      <Button {...button} aria-label={`Wait for ${description}`} onClick={() => set(null)}>
        Wait for it
      </Button>
    );
  return (
    <>
      <Button {...button} aria-label={`Keep ${description} running`} onClick={() => set('keep-running')}>
        Keep running
      </Button>
      {isAsked && mark === null && (
        <Button {...button} aria-label={`Wait for ${description}`} onClick={() => set('work')}>
          Wait for it
        </Button>
      )}
    </>
  );
}

/** Whether the stage waits for a task. */
const taskMarkText = ({ mark }: BackgroundTask): string =>
  mark === 'keep-running' ? 'meant to keep running' : 'the stage waits for it';

function TaskText({ task }: { task: BackgroundTask }) {
  const { description, command, startedAt } = task;
  return (
    <Box flex="1 1 240px" miw={0}>
      <div>
        <Text span inherit fw={500}>
          <Seen text={description} kind="prose" />
        </Text>{' '}
        <Hint span>
          {taskKind(task)}, {taskMarkText(task)}
          {startedAt !== null && (
            <>
              {' · '}
              <TimeSince at={startedAt} />
            </>
          )}
        </Hint>
      </div>
      {command !== null && (
        <Text component="code" size="row" c="dimmed" truncate display="block" title={command}>
          <Seen text={command} kind="command" />
        </Text>
      )}
    </Box>
  );
}

interface TaskOutputDialogProps {
  stageId: StageId;
  task: BackgroundTask;
  isRunning: boolean;
  isStopping: boolean;
  /** Null while no command can be sent. */
  stop: (() => void) | null;
  close: () => void;
}

/** The output of a background command. */
function TaskOutputDialog({ stageId, task, isRunning, isStopping, stop, close }: TaskOutputDialogProps) {
  return (
    <Dialog opened title={`Output of ${task.description}`} size={880} close={close} closeOnClickOutside>
      <Stack gap="md">
        {task.command !== null && <CodeBlock isCommand text={task.command} />}
        <Output stageId={stageId} taskId={task.taskId} isRunning={isRunning} />
        <Group justify="space-between" mih={36}>
          <Hint span role="status">
            {isRunning ? 'Running.' : 'Not running any more.'}
          </Hint>
          {isRunning && (
            <Button variant="default" disabled={stop === null} loading={isStopping} onClick={() => stop?.()}>
              Stop
            </Button>
          )}
        </Group>
      </Stack>
    </Dialog>
  );
}

function Output({ stageId, taskId, isRunning }: { stageId: StageId; taskId: string; isRunning: boolean }) {
  const { data, error, refetch } = useQuery(taskOutputQuery(stageId, taskId, isRunning));
  if (data === undefined) return error === null ? null : <ErrorNote error={error} retry={() => void refetch()} />;
  return (
    <>
      <OutputScreen output={data.output} note={outputText(data)} empty="(no output yet)" isTall />
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
    </>
  );
}
