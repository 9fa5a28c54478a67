import { type Pause, type PauseScope, type Project, pauseOfAll, pauseOver, type StageView } from '@callboard/contract';
import { Button, Group, Stack } from '@mantine/core';
import { IconPlayerPause } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { pausesDialog } from '../../data/dialogs.ts';
import { pausedTurnText, sinceTime, stagePauseText, usePutPause } from '../../data/pauses.tsx';
import { boardQuery } from '../../data/queries.ts';
import { count, exactTime } from '../../lib/format.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Banner, Entry, Hint } from '../../ui/primitives.tsx';

/** Everything and each project: whether it is on hold, and how to change that. */
export default function PausesDialog() {
  const { data: projects = [] } = useQuery({ ...boardQuery, select: (view) => view.projects });
  const { data: pauses = [] } = useQuery({ ...boardQuery, select: (view) => view.holds });
  const all = pauseOfAll(pauses);
  return (
    <Dialog
      opened={pausesDialog.useIsOpen()}
      close={pausesDialog.close}
      title="Hold and release"
      size={560}
      closeOnClickOutside
    >
      <Stack gap="md" pb="md">
        <Hint span display="block">
          On hold, nothing starts or is sent automatically. Starting or sending by hand releases that stage. Anything
          you release continues where it left off as soon as a slot is free. Interrupting ends running turns; subagents
          working on their own in the background finish.
        </Hint>
        <ul aria-label="What can be held">
          <Row name="Everything" scope={{}} hold={all} />
          {projects.map((project) => (
            <Row
              key={project.id}
              name={project.name}
              scope={{ projectId: project.id }}
              hold={pauseOver({ id: '', projectId: project.id }, pauses)}
            />
          ))}
        </ul>
        <PausedStages projects={projects} />
      </Stack>
    </Dialog>
  );
}

interface RowProps {
  name: string;
  scope: PauseScope;
  /** What keeps it: a hold of its own, or that of everything. */
  hold: Pause | null;
}

function Row({ name, scope, hold }: RowProps) {
  const put = usePutPause(name);
  const off = !useCanCommand() || put.isPending;
  const order = (held: boolean, interrupt: boolean) => put.mutate({ scope, held, ...(interrupt && { interrupt }) });
  const isPending = (held: boolean, interrupt: boolean) =>
    put.isPending && put.variables.held === held && (put.variables.interrupt ?? false) === interrupt;
  return (
    <Entry>
      <span>
        <strong>{name}</strong>
        <Hint span display="block" title={hold === null ? undefined : exactTime(hold.at)}>
          {hold === null ? 'Not on hold' : rowText(scope, hold)}
        </Hint>
      </span>
      <Group>
        {hold === null ? (
          <>
            <Button
              variant="default"
              aria-label={`Hold ${name}`}
              disabled={off}
              loading={isPending(true, false)}
              onClick={() => order(true, false)}
            >
              Hold
            </Button>
            <Button
              variant="default"
              aria-label={`Hold ${name} and interrupt`}
              title="Interrupts running turns, which go on when released. Subagents that work alone in the background finish."
              disabled={off}
              loading={isPending(true, true)}
              onClick={() => order(true, true)}
            >
              Hold and interrupt
            </Button>
          </>
        ) : (
          <>
            {hasReleased(scope, hold) && (
              <Button
                variant="default"
                aria-label={`Hold the rest again: ${name}`}
                title="Puts what was released since on hold again"
                disabled={off}
                loading={isPending(true, false)}
                onClick={() => order(true, false)}
              >
                Hold the rest again
              </Button>
            )}
            <Button
              aria-label={`Release ${name}`}
              disabled={off}
              loading={isPending(false, false)}
              onClick={() => order(false, false)}
            >
              Release
            </Button>
          </>
        )}
      </Group>
    </Entry>
  );
}

/** Whether a project is on hold with everything, and not by a hold of its own. */
const isWithAll = (scope: PauseScope, pause: Pause): boolean => 'projectId' in scope && !('projectId' in pause.scope);

const hasReleased = (scope: PauseScope, pause: Pause): boolean => pause.except.length > 0 && !isWithAll(scope, pause);

function rowText(scope: PauseScope, pause: Pause): string {
  const { by, at, except } = pause;
  const since = `On hold since ${sinceTime(at)}, by ${by}`;
  if (isWithAll(scope, pause)) return `${since}, with everything`;
  return except.length === 0 ? since : `${since}; ${except.length} released since`;
}

/** Stages that are held by name stay so when a project or everything is released. */
function PausedStages({ projects }: { projects: readonly Project[] }) {
  const { data: held = 0 } = useQuery({
    ...boardQuery,
    select: (view) => view.stages.filter((stage) => stage.held && stage.completedAt === null).length,
  });
  if (held === 0 || projects.length === 0) return null;
  return (
    <Hint span display="block">
      {count(held, 'stage is', 'stages are')} on hold by name. Release {held === 1 ? 'it' : 'them'} on the board.
    </Hint>
  );
}

/** The stage is on hold: since when, what waits, and how to release it. Nothing for any other stage. */
export function PauseBanner({ stage }: { stage: StageView }) {
  const put = usePutPause(stage.title);
  const canCommand = useCanCommand();
  const { data: text = null } = useQuery({
    ...boardQuery,
    select: ({ holds, projects }) =>
      stagePauseText(stage, holds, projects.find(({ id }) => id === stage.projectId)?.name ?? 'The project'),
  });
  if (text === null) return null;
  return (
    <Banner isCalm icon={<IconPlayerPause size={20} aria-hidden />} aria-labelledby="on-hold">
      <h2 id="on-hold">{text}</h2>
      <p>{pausedTurnText(stage) ?? otherwise(stage)}</p>
      <Group>
        <Button
          variant="default"
          disabled={!canCommand}
          loading={put.isPending}
          onClick={() => put.mutate({ scope: { stageIds: [stage.id] }, held: false })}
        >
          Release this stage
        </Button>
      </Group>
    </Banner>
  );
}

const otherwise = ({ session }: StageView): string =>
  session === null
    ? 'It does not start automatically. Start releases it.'
    : 'A running turn finishes. Then nothing is sent and no phase begins; a message waits unless you send it now.';
