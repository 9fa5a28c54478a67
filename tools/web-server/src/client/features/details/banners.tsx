import { isClaudeAway, resumeCommand, type StageId, type StageView } from '@callboard/contract';
import { Button, Group, Text } from '@mantine/core';
import { IconPlugConnectedX, IconShieldExclamation, IconTerminal2 } from '@tabler/icons-react';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from 'react-router';
import { boardQuery } from '../../data/queries.ts';
import { useWithdraw } from '../../data/session-commands.ts';
import { useAcknowledgeAlarm, useContinueStage } from '../../data/stage-commands.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { count } from '../../lib/format.ts';
import { ALARM_TEXTS, inTerminalText, isLoggedOutStage } from '../../lib/stage-status.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { CopyLine } from '../../ui/notes.tsx';
import { Banner, Hint, ScrollList, Strip } from '../../ui/primitives.tsx';
import { Seen, TimeSince } from '../../ui/text.tsx';

/** What raised the alarm, and two actions: look at what happened, or let it continue. Nothing without an alarm. */
export function AlarmBanner({ stage }: { stage: StageView }) {
  const acknowledge = useAcknowledgeAlarm(stage.title);
  const canCommand = useCanCommand();
  const alarm = stage.session?.alarm ?? null;
  if (alarm === null) return null;
  return (
    <Banner icon={<IconShieldExclamation size={20} aria-hidden />} aria-labelledby="alarm">
      <h2 id="alarm">
        {ALARM_TEXTS[alarm.code]} · <TimeSince at={alarm.at} />
      </h2>
      <p>{alarm.detail}</p>
      <Group>
        <Button component={Link} to={`/stages/${stage.id}`} variant="default">
          Open transcript
        </Button>
        <Button disabled={!canCommand} loading={acknowledge.isPending} onClick={() => acknowledge.mutate(stage.id)}>
          Acknowledge and allow it to continue
        </Button>
      </Group>
    </Banner>
  );
}

/** The stage stopped because Claude is not logged in: what to do, and Continue once that is done. Nothing for any other stage. */
export function LoginBanner({ stage }: { stage: StageView }) {
  const { data: isAway = true } = useQuery({ ...boardQuery, select: ({ claude }) => isClaudeAway(claude) });
  const continuing = useContinueStage(stage);
  const canCommand = useCanCommand();
  if (!isLoggedOutStage(stage)) return null;
  return (
    <Banner icon={<IconPlugConnectedX size={20} aria-hidden />} aria-labelledby="claude-login">
      <h2 id="claude-login">{isAway ? 'Claude is not logged in' : 'Claude is logged in again'}</h2>
      <p role="status">
        {isAway
          ? 'Your message is kept. Run this in a terminal on Callboard’s machine and log in; this page notices it.'
          : 'Your message is kept. Continue where this stage stopped.'}
      </p>
      {isAway && <CopyLine text="claude" />}
      {continuing !== null && (
        <Group>
          <Button
            variant={isAway ? 'default' : 'filled'}
            disabled={!canCommand}
            loading={continuing.isSending}
            onClick={continuing.run}
          >
            {isAway ? 'Try again' : 'Continue'}
          </Button>
        </Group>
      )}
    </Banner>
  );
}

/** The processes that outlived the session's own, and that only a person ends. Shows nothing if there are none. */
export function LeftoversPanel({ stage }: { stage: StageView }) {
  const { data: processes = [] } = useQuery(leftoversQuery(stage.id, stage.session?.leftovers ?? 0));
  const end = useEndLeftovers(stage.id);
  const canCommand = useCanCommand();
  if (processes.length === 0) return null;
  const isOne = processes.length === 1;
  return (
    <Strip component="section" align="flex-start" aria-labelledby="left-processes">
      <div>
        <h2 id="left-processes">
          {isOne ? '1 process of this session is' : `${processes.length} processes of this session are`} still running
        </h2>
        <Text c="dimmed" maw={880}>
          They dropped Callboard's marker, so Callboard does not end them by itself. End what you do not need.
        </Text>
      </div>
      <ScrollList w="100%" maw={880} mah={132}>
        {processes.map(({ pid, command, startedAt }) => (
          <li key={pid}>
            <code className="truncate" title={command}>
              <Seen text={command} kind="command" />
            </code>
            <Hint span flex="none" className="figures">
              pid {pid} · <TimeSince at={startedAt} />
            </Hint>
          </li>
        ))}
      </ScrollList>
      <Button
        variant="default"
        disabled={!canCommand}
        loading={end.isPending}
        onClick={() => end.mutate(processes.map(({ pid }) => pid))}
      >
        {isOne ? 'End process' : `End ${processes.length} processes`}
      </Button>
    </Strip>
  );
}

/** No event reports when one of them ends. */
const POLL_MS = 5_000;

/** What a session's ended processes left running. `count` is what the session says; a change reads the list again. */
const leftoversQuery = (stageId: StageId, count: number) =>
  queryOptions({
    queryKey: ['processes', stageId, count],
    queryFn: async ({ signal }) => (await client.command('get_leftovers', { stageId }, { signal })).processes,
    enabled: count > 0,
    staleTime: 0,
    refetchInterval: POLL_MS,
  });

function useEndLeftovers(stageId: StageId) {
  const queryClient = useQueryClient();
  return useCommand({
    run: async (pids: readonly number[]) => {
      try {
        return await client.command('end_leftovers', { stageId, pids: [...pids] });
      } finally {
        void queryClient.invalidateQueries({ queryKey: ['processes', stageId] });
      }
    },
    failed: 'The processes were not ended',
  });
}

/** The conversation is in a terminal: how to continue it there, and how to take it back. Nothing for any other stage. */
export function TerminalBanner({ stage }: { stage: StageView }) {
  const withdraw = useWithdraw(stage.title);
  const canCommand = useCanCommand();
  const { session, worktree } = stage;
  const text = inTerminalText(stage);
  if (text === null || session === null) return null;
  const waiting = session.queued === 0 ? '' : ` ${count(session.queued, 'message')} queued.`;
  return (
    <Banner icon={<IconTerminal2 size={20} aria-hidden />} isCalm aria-labelledby="in-terminal">
      <h2 id="in-terminal">{text}</h2>
      <p>
        {session.terminal?.by} continues this conversation there. Callboard starts nothing for it. Exit Claude Code in
        the terminal, then take the stage back or send a message.{waiting}
      </p>
      {worktree !== null && session.sessionId !== null && (
        <CopyLine text={resumeCommand(worktree.path, session.sessionId)} label="command that resumes" />
      )}
      <Group>
        <Button disabled={!canCommand} loading={withdraw.isPending} onClick={() => withdraw.mutate(stage.id)}>
          Take back
        </Button>
      </Group>
    </Banner>
  );
}
