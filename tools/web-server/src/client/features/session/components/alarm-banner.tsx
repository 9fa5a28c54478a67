import type { StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconShieldExclamation } from '@tabler/icons-react';
import { Link } from 'react-router';
import { useAcknowledgeAlarm } from '../../../data/stage-commands.ts';
import { ALARM_TEXTS } from '../../../lib/needs-you-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import css from './stage-head.module.css';

/** What raised the alarm, and two actions: look at what happened, or let it continue. Nothing without an alarm. */
export function AlarmBanner({ stage }: { stage: StageView }) {
  const acknowledge = useAcknowledgeAlarm(stage.title);
  const canCommand = useCanCommand();
  const alarm = stage.session?.alarm ?? null;
  if (alarm === null) return null;
  return (
    <section className={css.alarm} aria-labelledby="alarm">
      <IconShieldExclamation size={20} aria-hidden />
      <div>
        <h2 id="alarm">
          {ALARM_TEXTS[alarm.code]} · <TimeSince at={alarm.at} />
        </h2>
        <p>{alarm.detail}</p>
        <div className={css.alarmActions}>
          <Button component={Link} to={`/stages/${stage.id}`} variant="default">
            Open transcript
          </Button>
          <Button disabled={!canCommand} loading={acknowledge.isPending} onClick={() => acknowledge.mutate(stage.id)}>
            Acknowledge and allow it to continue
          </Button>
        </div>
      </div>
    </section>
  );
}
