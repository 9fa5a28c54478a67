import { type DevServer, hostLocation, type StageView, type WorktreeCommand } from '@callboard/contract';
import { Anchor, Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { commandsQuery, serversQuery } from '../../../data/workspace-queries.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useOpenInEditor, useRunCommand, useServerSwitch, useStopCommand } from '../api/use-workspace-commands.ts';
import { runText, serverAddress } from '../model/run-words.ts';
import { CommandOutputBox } from './command-output.tsx';
import css from './workspace.module.css';

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
            <ul className={css.runs}>
              {servers.map((server) => (
                <ServerRow key={server.name} stage={stage} server={server} />
              ))}
            </ul>
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
      <dd className={css.editor}>
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
          <span className={css.facts}>
            The worktree is on another machine than this browser, so copy its path instead.
          </span>
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
        <ul className={css.runs}>
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
        </ul>
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
      <div className={css.line}>
        {name !== null && <span className={css.name}>{name}</span>}
        <span className={css.state} data-tone={text === null ? state?.tone : 'plain'}>
          {text ?? state?.text ?? 'Not started'}
        </span>
        {at !== null && (
          <span className={css.facts}>
            <TimeSince at={at} ago={run?.state !== 'running'} />
          </span>
        )}
        <span className={css.actions}>
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
        </span>
      </div>
      {isOpen && run !== null && <CommandOutputBox run={run} />}
    </li>
  );
}
