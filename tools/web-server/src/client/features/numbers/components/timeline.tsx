import type { Numbers, StageId } from '@callboard/contract';
import { Link } from 'react-router';
import { count, exactDuration } from '../../../lib/format.ts';
import { useNow } from '../../../lib/use-now.ts';
import { daysBetween, formatDay } from '../model/figures.ts';
import type { Names } from '../model/names.ts';
import { type Stretch, type TimelineRow, timelineRows, timelineTable } from '../model/timeline.ts';
import { FigureTable } from './figure-table.tsx';
import { fillOf, Swatch } from './looks.tsx';
import css from './numbers.module.css';

/** About how many days are named above the line. */
const NAMED_DAYS = 7;
/** What is drawn narrower than this cannot be seen. */
const LEAST_PERCENT = 0.15;

interface TimelineProps {
  numbers: Numbers;
  names: Names;
}

/** When the processes of each stage ran, and when they waited for a person. */
export function Timeline({ numbers, names }: TimelineProps) {
  const now = useNow();
  const rows = timelineRows(numbers, now);
  const { leftOut, waitsLeftOut, leastMs } = numbers.timeline;
  const deleted = new Set(numbers.stages.flatMap(({ stageId, isDeleted }) => (isDeleted ? [stageId] : [])));
  return (
    <section className={css.timeline} aria-label="Sessions over time">
      <div className={css.figureHead}>
        <h2>Sessions over time</h2>
      </div>
      <p className={css.about}>
        When Claude’s process ran, by stage; the stage that ran last comes first. Waits shorter than{' '}
        {exactDuration(leastMs)} are too narrow to draw, and not in the table and its CSV file.
        {leftOut > 0 && ` ${count(leftOut, 'older session')} left out.`}
        {waitsLeftOut > 0 && ` ${count(waitsLeftOut, 'older wait')} left out.`}
      </p>
      {rows.length === 0 ? (
        <p className={css.empty}>No session ran in this period.</p>
      ) : (
        <>
          <ul className={css.legend}>
            <li>
              <Swatch check={1} />
              Ran
            </li>
            <li>
              <Swatch check={4} />
              Waited for a person
            </li>
          </ul>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard */}
          <section className={css.lines} aria-label="Time line" tabIndex={0}>
            <DayMarks numbers={numbers} />
            <ul>
              {rows.map((row) => (
                <Line
                  key={row.stageId}
                  row={row}
                  title={names.titleOf(row.stageId)}
                  isGone={deleted.has(row.stageId)}
                />
              ))}
            </ul>
          </section>
          <FigureTable name="Sessions over time" table={timelineTable(numbers, names, now)} />
        </>
      )}
    </section>
  );
}

function DayMarks({ numbers: { from, to } }: { numbers: Numbers }) {
  const days = daysBetween(from, to);
  const step = Math.max(1, Math.ceil(days.length / NAMED_DAYS));
  return (
    <div className={css.days} aria-hidden>
      <span />
      <div>
        {days.map((day, at) =>
          at % step === 0 ? (
            <span key={day} style={{ left: percent(at / days.length) }}>
              {formatDay(day)}
            </span>
          ) : null,
        )}
      </div>
    </div>
  );
}

interface LineProps {
  row: TimelineRow;
  title: string;
  isGone: boolean;
}

function Line({ row, title, isGone }: LineProps) {
  const { launches, waits, ranMs, waitedMs, isWaiting } = row;
  return (
    <li className={css.line}>
      <StageTitle stageId={row.stageId} title={title} isGone={isGone} />
      <div className={css.track} aria-hidden>
        {launches.map((stretch) => (
          <span key={stretch.key} className={css.ran} data-open={stretch.isOpen} style={locationOf(stretch)} />
        ))}
        <svg width="100%" height="100%" aria-hidden>
          {waits.map(({ key, start, length }) => (
            <rect
              key={key}
              x={percent(start)}
              y={3}
              width={percent(Math.max(length, LEAST_PERCENT / 100))}
              height={10}
              className={css.waited}
              fill={fillOf(4)}
            />
          ))}
        </svg>
      </div>
      <span className="visually-hidden">
        {count(launches.length, 'session')}, ran for {exactDuration(ranMs)}
        {waitedMs > 0 && `, waited for a person for ${exactDuration(waitedMs)}`}
        {isWaiting && ', waits for a person now'}
      </span>
    </li>
  );
}

const StageTitle = ({ stageId, title, isGone }: { stageId: StageId; title: string; isGone: boolean }) =>
  isGone ? (
    <span className={css.title}>{title}</span>
  ) : (
    <Link className={css.title} to={`/stages/${stageId}`} title={title}>
      {title}
    </Link>
  );

const percent = (part: number): string => `${(part * 100).toFixed(3)}%`;
const locationOf = ({ start, length }: Stretch) => ({
  left: percent(start),
  width: percent(Math.max(length, LEAST_PERCENT / 100)),
});
