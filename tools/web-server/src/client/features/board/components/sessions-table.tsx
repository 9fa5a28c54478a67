import type { BoardView } from '@callboard/contract';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { Link, useSearchParams } from 'react-router';
import { boardQuery } from '../../../data/queries.ts';
import { cost } from '../../../lib/format.ts';
import type { StageWords } from '../../../lib/needs-you-words.ts';
import { usageOf } from '../../../lib/session-usage.ts';
import { reasonWords, stateWords } from '../../../lib/state-words.ts';
import { TextWithPath } from '../../../ui/text-with-path.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useCard } from '../api/use-card.ts';
import { readSorting, type SessionStage, type Sort, type Sorting, sessionRows } from '../model/session-rows.ts';
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
        <p className={css.none}>No stage has been started yet. Its session stands here once it is.</p>
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

const NO_WORDS: StageWords = { text: '', tone: 'plain' };

function Row({ stage }: { stage: SessionStage }) {
  const { session } = stage;
  const card = useCard(stage.id);
  const state = stateWords(stage, card?.pending ?? 0, card?.unsettled ?? 0);
  // Does not repeat the state, but gives the reason for it.
  const { text, path } =
    state.tone === 'fail' ? { text: reasonWords(stage) ?? '', path: undefined } : (card?.words ?? NO_WORDS);
  return (
    <tr>
      <th scope="row">
        <Link to={`/stages/${stage.id}`}>{stage.title}</Link>
        <div className={css.project}>{card?.project}</div>
      </th>
      <td>
        <span className={css.state} data-tone={state.tone}>
          {state.words}
        </span>
        {text.toLowerCase() !== state.words.toLowerCase() && (
          <div className={css.words} title={text}>
            <TextWithPath text={text} path={path} />
          </div>
        )}
      </td>
      <td className={css.number}>
        <TimeSince at={stage.completedAt ?? session.stateSince} />
      </td>
      <td className={css.number}>{cost(usageOf(session).costUsd)}</td>
      <td className={css.number}>
        {session.contextUsage === null ? '–' : `${Math.round(session.contextUsage.percentage)} %`}
      </td>
      <td className={css.number}>{session.queued === 0 ? '–' : session.queued}</td>
    </tr>
  );
}
