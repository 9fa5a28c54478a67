import {
  type CommandIsolation,
  type DevServer,
  hostLocation,
  type StageId,
  type StageView,
  type WorktreeCommand,
} from '@callboard/contract';
import { Anchor, Button, Flex, Group, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconTool } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { trustDialog } from '../../data/dialogs.ts';
import { useRemakeWorktree } from '../../data/stage-commands.ts';
import { useCommand } from '../../data/use-command.tsx';
import { applyCommand, commandOutputQuery, commandsQuery, serversQuery } from '../../data/worktree-queries.ts';
import { client } from '../../lib/api-client.ts';
import { type BeforeStart, beforeStart } from '../../lib/stage-status.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { OutputScreen } from '../../ui/output-screen.tsx';
import { Hint, Strip } from '../../ui/primitives.tsx';
import { Seen, TimeSince } from '../../ui/text.tsx';

/** What happens, or has gone wrong, before Claude starts in a worktree. Shows nothing for other stages. */
export function SetUpPanel({ stage }: { stage: StageView }) {
  const state = stage.session?.state;
  const isConcerned = state === 'starting' || state === 'failed';
  const { data: runs = [] } = useQuery({ ...commandsQuery(stage.id), enabled: isConcerned });
  const run = runs.find(({ kind }) => kind === 'setup') ?? null;
  const now = isConcerned ? setUpState(stage, run) : null;
  if (now === null) return null;
  const { title, text } = SET_UP_TEXTS[now];
  const Icon = now === 'running' ? IconTool : IconAlertTriangle;
  const hasOutput = (now === 'running' || now === 'failed') && run !== null;
  return (
    <Strip component="section" aria-labelledby="set-up">
      <Group gap="4px 8px">
        <Icon size={16} data-tone={TONES[now]} aria-hidden />
        <h2 id="set-up" data-tone={TONES[now]}>
          {title}
        </h2>
        {now === 'running' && run !== null && (
          <Hint span className="figures">
            <TimeSince at={run.startedAt} />
          </Hint>
        )}
        <Actions stage={stage} state={now} run={run} />
      </Group>
      <Text role="status" maw={880} c="dimmed">
        {now === 'failed' && run?.reason != null ? `${run.reason} ` : ''}
        {text}
      </Text>
      {(now === 'no-fetch' || now === 'bad-file' || now === 'replaced') && (
        <Text className="pre-wrap" maw={880}>
          {stage.session?.lastTurn?.message}
        </Text>
      )}
      {hasOutput && <CommandOutputBox run={run} />}
    </Strip>
  );
}

/** Amber calls a person, red is a failure. */
const TONES: Readonly<Record<SetUpState, 'plain' | 'needs' | 'fail'>> = {
  running: 'plain',
  failed: 'fail',
  'no-fetch': 'fail',
  'bad-file': 'fail',
  replaced: 'fail',
  'not-agreed': 'needs',
};

interface ActionsProps {
  stage: StageView;
  state: SetUpState;
  run: WorktreeCommand | null;
}

function Actions({ stage, state, run }: ActionsProps) {
  const start = useStartAnyway(stage);
  const stop = useStopCommand(stage.id);
  const remake = useRemakeWorktree(stage.title, true);
  const off = !useCanCommand();
  const wanted = start.isPending ? start.variables : null;
  if (state === 'running')
    return (
      <Group ml="auto">
        <Button
          variant="default"
          disabled={off || run === null}
          loading={stop.isPending}
          onClick={() => run !== null && stop.mutate(run.id)}
        >
          Stop
        </Button>
      </Group>
    );
  if (state === 'replaced')
    return (
      <Group ml="auto">
        <Button variant="default" disabled={off} loading={start.isPending} onClick={() => start.mutate({})}>
          Try again
        </Button>
        <Button disabled={off} loading={remake.isPending} onClick={() => remake.mutate(stage.id)}>
          Make the worktree again
        </Button>
      </Group>
    );
  const without = state === 'no-fetch' ? { withoutFetch: true } : { withoutSetup: true };
  return (
    <Group ml="auto">
      <Button
        variant="default"
        disabled={off}
        loading={wanted !== null && hasWithout(wanted)}
        onClick={() => start.mutate(without)}
      >
        {state === 'no-fetch' ? 'Start with what is here' : 'Start without it'}
      </Button>
      {state === 'not-agreed' && (
        <Button disabled={off} onClick={() => trustDialog.open({ projectId: stage.projectId, stageId: stage.id })}>
          Review
        </Button>
      )}
      <Button
        variant={state === 'not-agreed' ? 'default' : 'filled'}
        disabled={off}
        loading={wanted !== null && !hasWithout(wanted)}
        onClick={() => start.mutate({})}
      >
        {state === 'failed' ? 'Run again' : 'Try again'}
      </Button>
    </Group>
  );
}

const hasWithout = (how: { withoutSetup?: boolean; withoutFetch?: boolean }): boolean =>
  how.withoutSetup === true || how.withoutFetch === true;

/** Starts a stage whose set-up or fetch did not succeed: again, or without that. */
const useStartAnyway = ({ id, title }: Pick<StageView, 'id' | 'title'>) =>
  useCommand({
    run: (how: { withoutSetup?: boolean; withoutFetch?: boolean }) =>
      client.command('start_stage', { stageId: id, ...how }),
    failed: `${title} was not started`,
    stageId: () => id,
  });

/** Runs the set-up or the clean-up of a worktree. */
function useRunCommand(stageId: StageId) {
  const cache = useQueryClient();
  return useCommand({
    run: (kind: 'setup' | 'cleanup') => client.command('run_stage_command', { stageId, kind }),
    failed: (kind) => (kind === 'setup' ? 'The set-up was not run' : 'The clean-up was not run'),
    stageId: () => stageId,
    done: ({ command }) => applyCommand(cache, command),
  });
}

/** Opens the worktree in an editor on the machine of the orchestrator. */
const useOpenInEditor = (stageId: StageId) =>
  useCommand({
    run: () => client.command('open_in_editor', { stageId }),
    failed: 'The worktree was not opened',
    stageId: () => stageId,
  });

/** Stops a run. Resolves when all its processes are gone. */
function useStopCommand(stageId: StageId) {
  const cache = useQueryClient();
  return useCommand({
    run: (commandId: string) => client.command('stop_command', { stageId, commandId }),
    failed: 'It was not stopped',
    stageId: () => stageId,
    done: ({ command }) => applyCommand(cache, command),
  });
}

/** Starts or stops a dev server. */
function useServerSwitch(stageId: StageId) {
  const cache = useQueryClient();
  return useCommand({
    run: ({ name, on }: { name: string; on: boolean }) =>
      client.command(on ? 'start_server' : 'stop_server', { stageId, name }),
    failed: ({ name, on }) => `${name} was not ${on ? 'started' : 'stopped'}`,
    stageId: () => stageId,
    done: ({ server }) => {
      if (server.run !== null) applyCommand(cache, server.run);
      void cache.invalidateQueries({ queryKey: serversQuery(stageId).queryKey });
    },
  });
}

/** How a run stands, in words. `tone` selects the colour. */
export interface RunText {
  text: string;
  tone: 'plain' | 'fail';
}

export function runText({ state, kind, reason }: Pick<WorktreeCommand, 'state' | 'kind' | 'reason'>): RunText {
  switch (state) {
    case 'running':
      return { text: 'Running', tone: 'plain' };
    case 'passed':
      return { text: kind === 'server' ? 'Ended by itself' : 'Done', tone: 'plain' };
    case 'failed':
      return { text: reason ?? 'Failed', tone: 'fail' };
    case 'timed-out':
      return { text: reason ?? 'Took too long', tone: 'fail' };
    case 'stopped':
    case 'interrupted':
      return { text: reason ?? 'Stopped', tone: 'plain' };
    default:
      return state satisfies never;
  }
}

/** Where a run has, or had, its place. */
export const isolationText = ({ level, reason }: CommandIsolation): string =>
  level === 'sandbox' ? 'In Callboard’s sandbox.' : `Outside the sandbox. ${reason ?? ''}`.trim();

/** What keeps Claude from being started in a stage's worktree, or is under way before that. */
export type SetUpState = 'running' | 'failed' | 'no-fetch' | 'bad-file' | 'not-agreed' | 'replaced';

/** @param setUp the newest run of its set-up; null if there is none */
export function setUpState(stage: StageView, setUp: Pick<WorktreeCommand, 'state'> | null): SetUpState | null {
  const { session } = stage;
  if (session === null || stage.completedAt !== null) return null;
  if (session.state === 'starting') return setUp?.state === 'running' ? 'running' : null;
  const cause = beforeStart(stage);
  return cause === null ? null : CAUSES[cause];
}

const CAUSES: Readonly<Record<BeforeStart, SetUpState>> = {
  'setup-failed': 'failed',
  'fetch-failed': 'no-fetch',
  'settings-invalid': 'bad-file',
  'settings-not-agreed': 'not-agreed',
  'worktree-replaced': 'replaced',
};

/** The heading of each state, and what it means for the stage. */
const SET_UP_TEXTS: Readonly<Record<SetUpState, { title: string; text: string }>> = {
  running: { title: 'Setting up the worktree', text: 'Claude starts when this is done.' },
  failed: { title: 'The worktree could not be set up', text: 'Claude was not started. Its first message is kept.' },
  'no-fetch': { title: 'Nothing could be fetched', text: 'Claude was not started. Its first message is kept.' },
  'bad-file': { title: 'callboard.yaml cannot be used', text: 'Claude was not started. Its first message is kept.' },
  replaced: {
    title: 'The worktree is not in its place',
    text: 'Claude was not started. Its first message is kept.',
  },
  'not-agreed': {
    title: 'callboard.yaml waits for your agreement',
    text: 'It names a set-up that nobody has agreed to yet, so none of it was run. Claude was not started.',
  },
};

/** The address of a dev server, on the host that the page came from. */
export const serverAddress = (port: number, host: string): string =>
  `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}/`;

/** What a run printed, which follows its end while it runs. */
function CommandOutputBox({ run }: { run: WorktreeCommand }) {
  const { data, error, refetch } = useQuery(commandOutputQuery(run));
  return (
    <Stack gap="xs" maw={880}>
      <Flex component="p" wrap="wrap" justify="space-between" align="baseline" gap="0 16px">
        <code>
          <Seen text={run.command} kind="command" />
        </code>
        <Hint span className="figures">
          {isolationText(run.isolation)}
        </Hint>
      </Flex>
      <OutputScreen
        output={data?.text ?? ''}
        note={data?.isCut === true ? 'Only the end is shown.' : null}
        empty={run.state === 'running' ? 'No output yet' : 'No output'}
      />
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
    </Stack>
  );
}

/** What runs, and has run, in the worktree of a stage: rows of its details. */
export function WorktreeRows({ stage }: { stage: StageView }) {
  const isThere = stage.worktree !== null;
  const { data: servers = [] } = useQuery({ ...serversQuery(stage.id), enabled: isThere });
  const { data: runs = [] } = useQuery({ ...commandsQuery(stage.id), enabled: isThere });
  const newest = (kind: WorktreeCommand['kind']) => runs.find((run) => run.kind === kind) ?? null;
  if (!isThere) return null;
  return (
    <>
      <EditorRow stage={stage} />
      {servers.length > 0 && (
        <>
          <dt>Dev servers</dt>
          <dd>
            <Flex component="ul" direction="column" gap="sm">
              {servers.map((server) => (
                <ServerRow key={server.name} stage={stage} server={server} />
              ))}
            </Flex>
          </dd>
        </>
      )}
      <RunRow stage={stage} kind="setup" name="Set-up" run={newest('setup')} />
      <RunRow stage={stage} kind="cleanup" name="Clean-up" run={newest('cleanup')} />
    </>
  );
}

/** Only a browser on the machine of the worktree has the editor in front of it. */
function EditorRow({ stage }: { stage: StageView }) {
  const open = useOpenInEditor(stage.id);
  const off = !useCanCommand();
  const isHere = hostLocation(window.location.hostname) === 'this-machine';
  return (
    <>
      <dt>Editor</dt>
      <dd>
        {isHere ? (
          <Button
            size="compact-sm"
            variant="default"
            disabled={off}
            loading={open.isPending}
            onClick={() => open.mutate()}
          >
            Open in editor
          </Button>
        ) : (
          <Hint span className="figures">
            The worktree is on another machine than this browser, so copy its path instead.
          </Hint>
        )}
      </dd>
    </>
  );
}

function ServerRow({ stage, server }: { stage: StageView; server: DevServer }) {
  const { name, run } = server;
  const change = useServerSwitch(stage.id);
  const off = !useCanCommand();
  const isRunning = run?.state === 'running';
  return (
    <RunLine name={name} run={run} at={isRunning ? run.startedAt : null}>
      {isRunning && run.port !== null && <ServerLink name={name} port={run.port} />}
      <Button
        size="compact-sm"
        variant="default"
        aria-label={`${isRunning ? 'Stop' : 'Start'} ${name}`}
        disabled={off || (!isRunning && stage.completedAt !== null)}
        loading={change.isPending}
        onClick={() => change.mutate({ name, on: !isRunning })}
      >
        {isRunning ? 'Stop' : 'Start'}
      </Button>
    </RunLine>
  );
}

/** Opened without anything of this page: whatever runs there may be what Claude wrote. */
function ServerLink({ name, port }: { name: string; port: number }) {
  return (
    <Anchor
      href={serverAddress(port, window.location.hostname)}
      target="_blank"
      rel="noopener noreferrer"
      aria-label={`Open ${name} on port ${port}`}
    >
      :{port}
    </Anchor>
  );
}

interface RunRowProps {
  stage: StageView;
  kind: 'setup' | 'cleanup';
  name: string;
  run: WorktreeCommand | null;
}

/** A command that ends by itself. Shows nothing if it never ran. */
function RunRow({ stage, kind, name, run }: RunRowProps) {
  const again = useRunCommand(stage.id);
  const stop = useStopCommand(stage.id);
  const off = !useCanCommand();
  const isSkipped = kind === 'setup' && stage.setup === 'skipped';
  if (run === null && !isSkipped) return null;
  const isRunning = run?.state === 'running';
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <Flex component="ul" direction="column" gap="sm">
          <RunLine
            name={null}
            run={run}
            at={run?.endedAt ?? run?.startedAt ?? null}
            text={isSkipped ? 'Left out' : null}
          >
            <Button
              size="compact-sm"
              variant="default"
              aria-label={isRunning ? `Stop ${kind}` : `Run ${kind} again`}
              disabled={off}
              loading={again.isPending || stop.isPending}
              onClick={() => (isRunning ? stop.mutate(run.id) : again.mutate(kind))}
            >
              {isRunning ? 'Stop' : 'Run again'}
            </Button>
          </RunLine>
        </Flex>
      </dd>
    </>
  );
}

interface RunLineProps {
  name: string | null;
  run: WorktreeCommand | null;
  at: string | null;
  /** In place of what the run says. */
  text?: string | null;
  children: ReactNode;
}

/** One line with its name, state and buttons, and below it its output if a person opens that. */
function RunLine({ name, run, at, text = null, children }: RunLineProps) {
  const [isOpen, setOpen] = useState(false);
  const state = run === null ? null : runText(run);
  return (
    <li>
      <Group gap="4px 8px" mih={24}>
        {name !== null && (
          <Text span fw={500} inherit>
            {name}
          </Text>
        )}
        <span data-tone={text === null ? state?.tone : 'plain'}>{text ?? state?.text ?? 'Not started'}</span>
        {at !== null && (
          <Hint span className="figures">
            <TimeSince at={at} ago={run?.state !== 'running'} />
          </Hint>
        )}
        <Flex component="span" align="center" wrap="wrap" ml="auto" gap="sm">
          {run !== null && (
            <Button
              size="compact-sm"
              variant="subtle"
              color="gray"
              aria-expanded={isOpen}
              aria-label={`${isOpen ? 'Hide' : 'Show'} output of ${name ?? run.name}`}
              onClick={() => setOpen(!isOpen)}
            >
              {isOpen ? 'Hide output' : 'Output'}
            </Button>
          )}
          {children}
        </Flex>
      </Group>
      {isOpen && run !== null && <CommandOutputBox run={run} />}
    </li>
  );
}
