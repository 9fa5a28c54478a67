import { awaitsTasks, type StageView } from '@callboard/contract';
import { useEffect, useState } from 'react';
import { checkResult } from '../../../lib/check-words.ts';
import { count } from '../../../lib/format.ts';
import { lastReview, reviewProblem, reviewText } from '../../../lib/review-words.ts';
import { useSessionNow } from '../../../stream/stream-context.tsx';
import { KindIcon } from '../../../ui/kind-icon.tsx';
import { PullRequestLine } from '../../../ui/pull-request-line.tsx';
import { TextWithPath } from '../../../ui/text-with-path.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import type { CardData } from '../api/use-card.ts';
import { backgroundText } from '../model/card-words.ts';
import { activityText } from '../model/now-words.ts';
import css from './row.module.css';

/** The line below a title: what the stage does now, asks, waits for or has made. */
export function RowLine({ card: { stage, text } }: { card: CardData }) {
  const stalled = stage.session?.stalledSince ?? null;
  if (stage.column === 'running') return <NowLine stage={stage} otherwise={text.text} />;
  if (stage.column === 'review' && stage.pullRequest !== null)
    return (
      <span className={css.words}>
        <PullRequestLine pullRequest={stage.pullRequest} />
      </span>
    );
  if (stage.column === 'review' && (stage.session?.changes?.files ?? 0) > 0) return <Changes stage={stage} />;
  const isAsked = stage.session !== null && awaitsTasks(stage.session); // about its background commands
  if (stalled !== null && !isAsked && text.asked === undefined && stage.session?.alarm === null)
    return (
      <span className={css.words} data-tone="needs">
        silent for <TimeSince at={stalled} />
      </span>
    );
  return (
    <span
      className={css.words}
      data-tone={text.tone}
      data-code={text.isCode === true}
      data-line={text.path !== undefined}
      title={text.text === '' ? undefined : text.text}
    >
      {text.asked !== undefined && (
        <span className={css.kind}>
          <KindIcon kind={text.asked.kind} toolName={text.asked.toolName} size={14} />
        </span>
      )}
      <TextWithPath text={text.text} path={text.path} isLine={text.path !== undefined} />
    </span>
  );
}

/** What Claude does this second: the only part of a row that changes while a turn runs. */
function NowLine({ stage: { session }, otherwise }: { stage: StageView; otherwise: string }) {
  const now = useSessionNow(session);
  if (now === null) return <span className={css.words}>{otherwise}</span>;
  const { kind, text, path, isCode, since } = activityText(now);
  return (
    <span className={css.now} data-kind={kind}>
      <span className={css.words} data-code={isCode} title={text}>
        {kind === 'text' && <span className="visually-hidden">writing: </span>}
        {kind === 'command' && <span className={css.prompt}>$ </span>}
        <TextWithPath text={text} path={path} isLine={path !== undefined} />
      </span>
      {since !== null && <Clock since={since} />}
    </span>
  );
}

/** Minutes and seconds since something began. Ticks alone, so that nothing around it is drawn again. */
function Clock({ since }: { since: string }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.floor((now - Date.parse(since)) / 1_000));
  const minutes = Math.floor(seconds / 60);
  const text =
    minutes < 60
      ? `${minutes}:${String(seconds % 60).padStart(2, '0')}`
      : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')} h`;
  return <span className={css.clock}>{text}</span>;
}

/** The worktree's changes at the end of the last turn. */
function Changes({ stage }: { stage: StageView }) {
  const { files = 0, additions = 0, deletions = 0 } = stage.session?.changes ?? {};
  const checks = checkResult(stage);
  const review = lastReview(stage);
  const said = [checks, review === null ? '' : reviewText(review), backgroundText(stage)];
  const reported = said.filter((text) => text !== '');
  const text = `${[...reported, ''].join(', ')}${count(files, 'file')} changed, ${additions} lines added, ${deletions} removed`;
  return (
    <span className={css.words} data-code="true" role="img" aria-label={text} title={text}>
      +{additions}
      {deletions > 0 && ` −${deletions}`} <span className={css.files}>{count(files, 'file')}</span>
      {reported.length > 0 && (
        <span
          className={css.files}
          data-tone={review !== null && reviewProblem(review.state) !== null ? 'fail' : undefined}
        >
          {' '}
          {reported.join(', ')}
        </span>
      )}
    </span>
  );
}
