import type { BoardView, StageView } from '@callboard/contract';
import { Anchor, Group } from '@mantine/core';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { Link, useSearchParams } from 'react-router';
import { usageOf } from '../../data/budget-data.ts';
import { boardQuery } from '../../data/queries.ts';
import { cost } from '../../lib/format.ts';
import { currentParams } from '../../lib/hooks.ts';
import { limitWaitText } from '../../lib/limit-text.ts';
import { PHASE_FINISHED, phaseNow, reasonText, type StateLabel, stateLabel } from '../../lib/stage-status.ts';
import { PriorityMark, ProjectMark, StageIdText } from '../../ui/marks.tsx';
import { Empty, Scroll } from '../../ui/primitives.tsx';
import { useLetterKeys } from '../../ui/shortcuts.tsx';
import { TimeSince } from '../../ui/text.tsx';
import { useBoardFilter } from './board-filter.tsx';
import { useDocumentKeys } from './board-keys.ts';
import { CardLine } from './card-line.tsx';
import { type CardData, useCard } from './cards.ts';
import { COLUMN_TITLES } from './columns.ts';
import css from './stage-list.module.css';

const HEADS: { sort: Sort; title: string; isNumber: boolean }[] = [
  { sort: 'stage', title: 'Stage', isNumber: false },
  { sort: 'state', title: 'State', isNumber: false },
  { sort: 'time', title: 'Since', isNumber: true },
  { sort: 'cost', title: 'Cost', isNumber: true },
  { sort: 'context', title: 'Context', isNumber: true },
  { sort: 'queue', title: 'Queued', isNumber: true },
];

/** The board as a list: what its stages do, since when, and what they have used. */
export default function StageList() {
  const [params, setParams] = useSearchParams();
  useListKeys('a[data-session]');
  const { by, descending } = readSorting(params);
  const { save } = useBoardFilter();
  const select = useCallback(
    (view: BoardView) => listRows(view.stages.filter(save), { by, descending }),
    [by, descending, save],
  );
  const { data: rows = [] } = useQuery({ ...boardQuery, select });
  const sort = (next: Sorting) => {
    const now = currentParams();
    now.set('sort', next.by);
    now.set('order', next.descending ? 'down' : 'up');
    setParams(now, { replace: true });
  };
  const total = rows.reduce((sum, stage) => sum + costOf(stage), 0);
  return (
    <>
      {rows.length === 0 ? (
        <Empty>No stages to list.</Empty>
      ) : (
        <Scroll aria-label="List of stages">
          <table className={css.table}>
            <thead className="visually-hidden-on-phone">
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
                <td data-number>{cost(total)}</td>
                <td colSpan={2} />
              </tr>
            </tfoot>
          </table>
        </Scroll>
      )}
    </>
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
    <th scope="col" data-number={isNumber || undefined} aria-sort={isChosen ? order : 'none'}>
      <button type="button" onClick={() => choose({ by: sort, descending: isChosen ? !sorting.descending : isNumber })}>
        {title}
        {isChosen && <Icon size={14} aria-hidden />}
      </button>
    </th>
  );
}

function Row({ stage }: { stage: StageView }) {
  const { session } = stage;
  const card = useCard(stage.id);
  const state = stateLabel(stage, card?.pending ?? 0, card?.unsettled ?? 0, card?.paused);
  const costUsd = costOf(stage);
  return (
    <tr data-needs={state.tone === 'needs'}>
      <th scope="row">
        <Group gap={6} wrap="nowrap">
          <ProjectMark name={card?.project ?? ''} />
          <Anchor
            component={Link}
            c="var(--text)"
            fw={500}
            truncate
            to={`/stages/${stage.id}`}
            data-session
            data-card={stage.id}
            title={`${stage.title}\n${card?.project ?? ''} · ${stage.id}`}
          >
            {stage.title}
          </Anchor>
          <PriorityMark priority={stage.priority} />
          <StageIdText id={stage.id} />
        </Group>
      </th>
      <td className={css.does}>
        <div className={css.doing}>
          <span data-tone={state.tone}>{state.text}</span>
          {card !== undefined && <Detail card={card} state={state} />}
        </div>
      </td>
      <td data-number>
        <TimeSince at={sinceOf(stage)} />
      </td>
      <td data-number>{costUsd === 0 ? '' : cost(costUsd)}</td>
      <td data-number>{session?.contextUsage == null ? '' : `${Math.round(session.contextUsage.percentage)}%`}</td>
      <td data-number>{session === null || session.queued === 0 ? '' : session.queued}</td>
    </tr>
  );
}

/** The reason for the state, or what the session does now; nothing that repeats the state. */
function Detail({ card, state }: { card: CardData; state: StateLabel }) {
  if (state.tone === 'fail') return <span className="truncate">{reasonText(card.stage)}</span>;
  if (state.text === PHASE_FINISHED) return <span className="truncate">{phaseNow(card.stage)}</span>;
  if (limitWaitText(card.stage) === state.text) return null;
  if (card.text.text.toLowerCase() === state.text.toLowerCase()) return null;
  return <CardLine card={card} />;
}

const STEPS: Readonly<Record<string, number>> = { j: 1, arrowdown: 1, k: -1, arrowup: -1 };

/** J, K and the arrow keys move along a list of links, from the first key on. @param selector the links */
function useListKeys(selector: string): void {
  useDocumentKeys((event) => {
    const key = event.key.toLowerCase();
    const step = STEPS[key];
    const isLetter = key === 'j' || key === 'k';
    if (step === undefined || (isLetter && !useLetterKeys.getState().on)) return false;
    const links = [...document.querySelectorAll<HTMLElement>(selector)];
    const at = links.findIndex((link) => link.matches(':focus'));
    if (at === -1 && !isLetter && event.target !== document.body) return false;
    links[at === -1 ? 0 : at + step]?.focus();
    return true;
  });
}

export const SORTS = ['stage', 'state', 'time', 'cost', 'context', 'queue'] as const;
export type Sort = (typeof SORTS)[number];

export interface Sorting {
  by: Sort;
  descending: boolean;
}

export function readSorting(params: URLSearchParams): Sorting {
  const by = SORTS.find((sort) => sort === params.get('sort'));
  return by === undefined ? { by: 'time', descending: true } : { by, descending: params.get('order') === 'down' };
}

const costOf = ({ session }: StageView): number => (session === null ? 0 : usageOf(session).costUsd);
const contextOf = ({ session }: StageView): number => session?.contextUsage?.percentage ?? -1;
const sinceOf = ({ completedAt, session, createdAt }: StageView): string =>
  completedAt ?? session?.stateSince ?? createdAt;

const COMPARE: Record<Sort, (a: StageView, b: StageView) => number> = {
  stage: (a, b) => a.title.localeCompare(b.title),
  state: (a, b) => COLUMN_TITLES[a.column].localeCompare(COLUMN_TITLES[b.column]),
  time: (a, b) => sinceOf(a).localeCompare(sinceOf(b)),
  cost: (a, b) => costOf(a) - costOf(b),
  context: (a, b) => contextOf(a) - contextOf(b),
  queue: (a, b) => (a.session?.queued ?? 0) - (b.session?.queued ?? 0),
};

/** The stages in the order of a list. */
export function listRows(stages: readonly StageView[], { by, descending }: Sorting): StageView[] {
  const rows = stages.toSorted(COMPARE[by]);
  return descending ? rows.reverse() : rows;
}
