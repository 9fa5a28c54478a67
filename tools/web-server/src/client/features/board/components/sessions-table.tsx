import type { BoardView } from '@callboard/contract';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { Link, useSearchParams } from 'react-router';
import { boardQuery } from '../../../data/queries.ts';
import { cost } from '../../../lib/format.ts';
import { limitWaitText } from '../../../lib/limit-words.ts';
import { phaseNow } from '../../../lib/needs-you-words.ts';
import { usageOf } from '../../../lib/session-usage.ts';
import { PHASE_FINISHED, reasonText, type StateLabel, stateLabel } from '../../../lib/state-words.ts';
import { PriorityMark } from '../../../ui/priority-mark.tsx';
import { ProjectMark } from '../../../ui/project-mark.tsx';
import { StageIdText } from '../../../ui/stage-id-text.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { type CardData, useCard } from '../api/use-card.ts';
import { useListKeys } from '../api/use-list-keys.ts';
import { readSorting, type SessionStage, type Sort, type Sorting, sessionRows } from '../model/session-rows.ts';
import { RowLine } from './row-line.tsx';
import css from './sessions-table.module.css';

const HEADS: { sort: Sort; title: string; isNumber: boolean }[] = [
  { sort: 'stage', title: 'Stage', isNumber: false },
  { sort: 'state', title: 'State', isNumber: false },
  { sort: 'time', title: 'Since', isNumber: true },
  { sort: 'cost', title: 'Cost', isNumber: true },
  { sort: 'context', title: 'Context', isNumber: true },
  { sort: 'queue', title: 'Queued', isNumber: true },
];

/** All sessions in one table. */
export default function SessionsTable() {
  const [params, setParams] = useSearchParams();
  useListKeys('a[data-session]');
  const { by, descending } = readSorting(params);
  const select = useCallback((view: BoardView) => sessionRows(view, { by, descending }), [by, descending]);
  const { data: rows = [] } = useQuery({ ...boardQuery, select });
  const sort = (next: Sorting) =>
    setParams({ sort: next.by, ...(next.descending ? { order: 'down' } : {}) }, { replace: true });
  const total = rows.reduce((sum, { session }) => sum + usageOf(session).costUsd, 0);
  return (
    <div className={css.page}>
      <h1 className={css.head}>Sessions</h1>
      {rows.length === 0 ? (
        <p className={css.none}>No sessions yet. A stage has one once it is started.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard
        <section className={css.scroll} aria-label="All sessions" tabIndex={0}>
          <table className={css.table}>
            <thead>
              <tr>
                {HEADS.map((head) => (
                  <Head key={head.sort} {...head} sorting={{ by, descending }} choose={sort} />
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((stage) => (
                <Row key={stage.id} stage={stage} />
              ))}
            </tbody>
            <tfoot>
              <tr>
                <td colSpan={3}>All {rows.length}</td>
                <td className={css.number}>{cost(total)}</td>
                <td colSpan={2} />
              </tr>
            </tfoot>
          </table>
        </section>
      )}
    </div>
  );
}

interface HeadProps {
  sort: Sort;
  title: string;
  isNumber: boolean;
  sorting: Sorting;
  choose: (sorting: Sorting) => void;
}

function Head({ sort, title, isNumber, sorting, choose }: HeadProps) {
  const isChosen = sorting.by === sort;
  const Icon = sorting.descending ? IconArrowDown : IconArrowUp;
  const order = sorting.descending ? 'descending' : 'ascending';
  return (
    <th scope="col" className={isNumber ? css.number : undefined} aria-sort={isChosen ? order : 'none'}>
      <button type="button" onClick={() => choose({ by: sort, descending: isChosen ? !sorting.descending : isNumber })}>
        {title}
        {isChosen && <Icon size={14} aria-hidden />}
      </button>
    </th>
  );
}

function Row({ stage }: { stage: SessionStage }) {
  const { session } = stage;
  const card = useCard(stage.id);
  const state = stateLabel(stage, card?.pending ?? 0, card?.unsettled ?? 0, card?.paused);
  const { costUsd } = usageOf(session);
  return (
    <tr data-needs={state.tone === 'needs'}>
      <th scope="row">
        <div className={css.stage}>
          <ProjectMark name={card?.project ?? ''} />
          <Link to={`/stages/${stage.id}`} data-session title={`${stage.title}\n${card?.project ?? ''} · ${stage.id}`}>
            {stage.title}
          </Link>
          <PriorityMark priority={stage.priority} />
          <span className={css.id}>
            <StageIdText id={stage.id} />
          </span>
        </div>
      </th>
      <td className={css.does}>
        <div className={css.doing}>
          <span className={css.state} data-tone={state.tone}>
            {state.text}
          </span>
          {card !== undefined && <Detail card={card} state={state} />}
        </div>
      </td>
      <td className={css.number}>
        <TimeSince at={stage.completedAt ?? session.stateSince} />
      </td>
      <td className={css.number}>{costUsd === 0 ? '' : cost(costUsd)}</td>
      <td className={css.number}>
        {session.contextUsage === null ? '' : `${Math.round(session.contextUsage.percentage)}%`}
      </td>
      <td className={css.number}>{session.queued === 0 ? '' : session.queued}</td>
    </tr>
  );
}

/** The reason for the state, or what the session does now; nothing that repeats the state. */
function Detail({ card, state }: { card: CardData; state: StateLabel }) {
  if (state.tone === 'fail') return <span className={css.reason}>{reasonText(card.stage)}</span>;
  if (state.text === PHASE_FINISHED) return <span className={css.reason}>{phaseNow(card.stage)}</span>;
  if (limitWaitText(card.stage) === state.text) return null;
  if (card.text.text.toLowerCase() === state.text.toLowerCase()) return null;
  return <RowLine card={card} />;
}
