import type { LimitWait, StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconHourglass } from '@tabler/icons-react';
import clsx from 'clsx';
import { comingTime, isAhead, limitWaitText, windowLabel } from '../../../lib/limit-words.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { useResume } from '../api/session-commands.ts';
import css from './stage-head.module.css';

/** The stage stopped at a usage limit: when it goes on, and how to decide otherwise. Nothing for any other stage. */
export function LimitBanner({ stage }: { stage: StageView }) {
  const resume = useResume(stage.title);
  const canCommand = useCanCommand();
  const wait = stage.session?.limitWait ?? null;
  const text = limitWaitText(stage);
  if (wait === null || text === null || stage.session?.alarm != null || stage.session?.terminal != null) return null;
  const button = (when: 'now' | 'at-reset' | 'never', label: string) => (
    <Button
      variant={when === 'now' && wait.goesOnAt === null ? 'filled' : 'default'}
      disabled={!canCommand || resume.isPending}
      loading={resume.isPending && resume.variables.when === when}
      onClick={() => resume.mutate({ stageId: stage.id, when })}
    >
      {label}
    </Button>
  );
  return (
    <section className={clsx(css.alarm, css.inTerminal)} aria-labelledby="usage-limit">
      <IconHourglass size={20} aria-hidden />
      <div>
        <h2 id="usage-limit">{text}</h2>
        <p>{bannerText(wait)}</p>
        <div className={css.alarmActions}>
          {button('now', 'Try now')}
          {wait.goesOnAt !== null && button('never', 'Do not continue')}
          {wait.goesOnAt === null && wait.resetsAt !== null && button('at-reset', resetLabel(wait.resetsAt))}
        </div>
      </div>
    </section>
  );
}

const resetLabel = (resetsAt: string) =>
  isAhead(resetsAt) ? `Continue automatically at ${comingTime(resetsAt)}` : 'Continue automatically';

function bannerText({ window, resetsAt, goesOnAt }: LimitWait): string {
  const name = windowLabel(window).toLowerCase();
  const reached = `The account’s ${name === 'usage limit' ? 'usage limit' : name} was reached.`;
  if (goesOnAt !== null)
    return `${reached} Nothing is lost: Callboard will tell Claude to continue then, even after a restart.`;
  if (resetsAt === null) return `${reached} Claude Code did not say when it resets. Your message is kept.`;
  return `${reached} Your message is kept. The stage waits for you.`;
}
