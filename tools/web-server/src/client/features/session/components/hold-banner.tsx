import type { StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconPlayerPause } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import clsx from 'clsx';
import { usePutPause } from '../../../data/holds.ts';
import { boardQuery } from '../../../data/queries.ts';
import { pausedTurnText, stagePauseText } from '../../../lib/hold-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import css from './stage-head.module.css';

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
    <section className={clsx(css.alarm, css.inTerminal)} aria-labelledby="on-hold">
      <IconPlayerPause size={20} aria-hidden />
      <div>
        <h2 id="on-hold">{text}</h2>
        <p>{pausedTurnText(stage) ?? otherwise(stage)}</p>
        <div className={css.alarmActions}>
          <Button
            variant="default"
            disabled={!canCommand}
            loading={put.isPending}
            onClick={() => put.mutate({ scope: { stageIds: [stage.id] }, held: false })}
          >
            Release this stage
          </Button>
        </div>
      </div>
    </section>
  );
}

const otherwise = ({ session }: StageView): string =>
  session === null
    ? 'It does not start automatically. Start releases it.'
    : 'A running turn finishes. Then nothing is sent and no phase begins; a message waits unless you send it now.';
