import type { BoardView, Numbers } from '@callboard/contract';
import { Box, Group, SegmentedControl, Text } from '@mantine/core';
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useSearchParams } from 'react-router';
import { boardQuery } from '../../data/queries.ts';
import { client } from '../../lib/api-client.ts';
import { cost, count, exactDuration } from '../../lib/format.ts';
import { currentParams } from '../../lib/hooks.ts';
import { ErrorNote } from '../../ui/notes.tsx';
import { Columns, Hint } from '../../ui/primitives.tsx';
import { Bars, Checks, FigureTable, LegendItem, Timeline } from './charts.tsx';
import {
  type BarFigure,
  contextFigure,
  type Figure,
  formatDay,
  type Names,
  namesOf,
  RANGES,
  RULE_VIEWS,
  readRange,
  readView,
  ruledCallsOf,
  rulesFigure,
  type Series,
  SPENDING_MEASURES,
  SPENDING_VIEWS,
  savedMs,
  shortValue,
  spendingFigure,
  sumOf,
  WAIT_VIEWS,
  waitsFigure,
  withValue,
} from './figures.ts';
import css from './numbers.module.css';

const boardDeps = ({ stages, projects }: BoardView) => ({ stages, projects });

/** What the last days were like, as charts: waits, rules, spending, contexts and sessions. The days and views are in the URL. */
export default function NumbersPage() {
  const [params] = useSearchParams();
  const range = readRange(params);
  const numbers = useQuery(numbersQuery(range));
  const { data: board } = useQuery({ ...boardQuery, select: boardDeps });
  const names = namesOf(numbers.data?.stages ?? [], board?.projects ?? []);
  return (
    <Box
      pos="relative"
      h="100%"
      p="12px var(--edge) 32px"
      bg="var(--surface)"
      style={{ overflow: 'auto' }}
      aria-busy={numbers.isFetching}
    >
      <Checks />
      <Group gap="4px 12px" mih={32}>
        <h1>Numbers</h1>
        {numbers.data !== undefined && <Days numbers={numbers.data} />}
        <AddressSwitch
          name={'range'}
          label={'Days'}
          value={String(range)}
          options={RANGES.map((days) => ({ value: String(days), label: `${days} days` }))}
        />
      </Group>
      {numbers.error !== null && (
        <ErrorNote
          lead="The numbers could not be read."
          error={numbers.error}
          retry={() => void numbers.refetch()}
          isRetrying={numbers.isFetching}
        />
      )}
      {numbers.data === undefined ? (
        numbers.isPending && <Hint mt="xs">Counting...</Hint>
      ) : (
        <>
          <Totals numbers={numbers.data} />
          <Columns min={480} style={{ columnGap: 32, rowGap: 0, alignItems: 'stretch' }}>
            <WaitsSection numbers={numbers.data} names={names} />
            <RulesSection numbers={numbers.data} names={names} />
            <SpendingSection numbers={numbers.data} names={names} />
            {board !== undefined && <ContextSection board={board} />}
          </Columns>
          <Timeline numbers={numbers.data} names={names} />
        </>
      )}
    </Box>
  );
}

const Days = ({ numbers: { from, to, timeZone } }: { numbers: Numbers }) => (
  <Hint mt="xs">
    {formatDay(from)} to {formatDay(to)} ({timeZone})
  </Hint>
);

const formatDuration = (ms: number): string => (ms === 0 ? '0 s' : exactDuration(ms));

/** The numbers to begin with, as far as there is anything to count. */
function Totals({ numbers }: { numbers: Numbers }) {
  const { waits, spending, timeline } = numbers;
  const saved = savedMs(numbers);
  const totals = [
    {
      name: 'Waiting for you',
      isZero: waits.days.length === 0,
      value: formatDuration(sumOf(waits.days, ({ waitedMs }) => waitedMs)),
      more: count(
        sumOf(waits.days, (wait) => wait.count),
        'request',
      ),
    },
    {
      name: 'Saved by rules',
      isZero: ruledCallsOf(numbers) === 0,
      value: saved === null ? '–' : `about ${formatDuration(saved)}`,
      more: `${count(ruledCallsOf(numbers), 'call')} let through`,
    },
    {
      name: 'Spent in finished turns',
      isZero: spending.days.length === 0,
      value: cost(sumOf(spending.days, ({ usd }) => usd)),
      more: `${shortValue(
        'tokens',
        sumOf(spending.days, ({ tokens }) => tokens),
      )} tokens`,
    },
    {
      name: 'Session time',
      isZero: timeline.ranMs === 0,
      value: formatDuration(timeline.ranMs),
      more: count(timeline.starts, 'start'),
    },
  ];
  const shown = totals.filter(({ isZero }) => !isZero);
  if (shown.length === 0) return null;
  return (
    <dl className={css.totals}>
      {shown.map(({ name, value, more }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="figures">{value}</dd>
          <dd>{more}</dd>
        </div>
      ))}
    </dl>
  );
}

interface SectionProps {
  numbers: Numbers;
  names: Names;
}

const VIEW_TEXTS = {
  day: 'By day',
  stage: 'By stage',
  kind: 'By kind',
  rule: 'By rule',
  project: 'By project',
} as const;
const viewOptions = (views: readonly (keyof typeof VIEW_TEXTS)[]) =>
  views.map((value) => ({ value, label: VIEW_TEXTS[value] }));

function WaitsSection({ numbers, names }: SectionProps) {
  const [params] = useSearchParams();
  const view = readView(params, 'waits', WAIT_VIEWS);
  return (
    <FigureSection
      title="Waiting for you"
      about="From a request to its answer, its time limit or the end of its process; on the day on which the wait ended. Requests that are open now are not in it."
      switches={<AddressSwitch name="waits" label="Waits" value={view} options={viewOptions(WAIT_VIEWS)} />}
      name={`Waits ${VIEW_TEXTS[view].toLowerCase()}`}
      figure={waitsFigure(numbers, view, names)}
      isByDay={view === 'day'}
      empty="Claude did not wait for anyone in this period."
    />
  );
}

function RulesSection({ numbers, names }: SectionProps) {
  const [params] = useSearchParams();
  const view = readView(params, 'rules', RULE_VIEWS);
  const { medianWaitMs, answers } = numbers.rules;
  const forEach = view === 'rule' ? ' A call that several rules let through together counts for each of them.' : '';
  return (
    <FigureSection
      title="Saved by rules"
      about={
        medianWaitMs === null
          ? `Calls that rules let through. Nobody allowed or denied a call in this period, so the time saved cannot be estimated.${forEach}`
          : `An estimate: each call that a rule let through counts as ${exactDuration(medianWaitMs)}, the median of ${count(answers, 'answer')} by people in this period. Folders and hosts are not counted.${forEach}`
      }
      switches={<AddressSwitch name="rules" label="Rules" value={view} options={viewOptions(RULE_VIEWS)} />}
      name={`Rules ${VIEW_TEXTS[view].toLowerCase()}`}
      figure={rulesFigure(numbers, view, names)}
      isByDay={view === 'day'}
      empty="No calls were allowed by a rule."
    />
  );
}

const MEASURE_OPTIONS = [
  { value: 'money', label: 'Cost' },
  { value: 'tokens', label: 'Tokens' },
] as const;

function SpendingSection({ numbers, names }: SectionProps) {
  const [params] = useSearchParams();
  const view = readView(params, 'spending', SPENDING_VIEWS);
  const measure = readView(params, 'measure', SPENDING_MEASURES);
  const { timeZone, from, to } = numbers.spending;
  return (
    <FigureSection
      title="Cost and tokens"
      about={`Tokens without those that were read from the cache. ${timeZone === numbers.timeZone ? '' : `By days of the server (${timeZone}), ${formatDay(from)} to ${formatDay(to)}, not of your time zone.`}`}
      switches={
        <>
          <AddressSwitch name="measure" label="Measure" value={measure} options={MEASURE_OPTIONS} />
          <AddressSwitch name="spending" label="Spending" value={view} options={viewOptions(SPENDING_VIEWS)} />
        </>
      }
      name={`Spending ${VIEW_TEXTS[view].toLowerCase()}`}
      figure={spendingFigure(numbers, { view, measure }, names)}
      isByDay={view === 'day'}
      empty="Nothing was spent in this period."
    />
  );
}

const ContextSection = ({ board }: { board: Pick<BoardView, 'stages' | 'projects'> }) => (
  <FigureSection
    title="Context in use"
    about="How full the context of each session is, as Claude Code last reported it."
    name="Context in use"
    figure={contextFigure(board)}
    isByDay={false}
    empty="No session has reported its context yet."
  />
);

/** No event says that a number has changed. */
const AGAIN_MS = 5 * 60_000;

/** What happened in the last days, as days of this browser's time zone. */
const numbersQuery = (days: number) =>
  queryOptions({
    queryKey: ['numbers', days],
    queryFn: ({ signal }) => {
      const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
      return client.command('get_numbers', { days, timeZone }, { signal });
    },
    placeholderData: keepPreviousData,
    staleTime: 0,
    refetchInterval: AGAIN_MS,
  });

interface SwitchProps {
  /** The name of the value in the address. */
  name: string;
  /** What is chosen, for screen readers. */
  label: string;
  value: string;
  options: readonly { value: string; label: string }[];
}

/** Chooses one of a few values, which the address keeps. */
function AddressSwitch({ name, label, value, options }: SwitchProps) {
  const [, setParams] = useSearchParams();
  return (
    <SegmentedControl
      size="xs"
      className={css.switch}
      ml={name === 'range' ? 'auto' : undefined}
      aria-label={label}
      data={[...options]}
      value={value}
      onChange={(chosen) => setParams(withValue(currentParams(), name, chosen), { replace: true })}
    />
  );
}

interface FigureSectionProps {
  title: string;
  about: ReactNode;
  switches?: ReactNode;
  /** What the table is called. */
  name: string;
  figure: Figure;
  isByDay: boolean;
  /** Said where there is nothing to draw. */
  empty: string;
}

/** A chart with its heading, its legend and its table. */
function FigureSection({ title, about, switches, name, figure, isByDay, empty }: FigureSectionProps) {
  const { chart, table } = figure;
  const hidden = isByDay ? 0 : chart.total - chart.bars.length;
  return (
    <Box component="section" miw={0} py="lg" style={{ borderBottom: '1px solid var(--line)' }} aria-label={title}>
      <Group gap="4px 12px" mih={32} justify="space-between">
        <h2>{title}</h2>
        <Group>{switches}</Group>
      </Group>
      <Hint mt="xs">{about}</Hint>
      {table.rows.length === 0 ? (
        <Text c="dimmed" pt="xl" pb="sm">
          {empty}
        </Text>
      ) : (
        <>
          {chart.series.length > 1 && <Legend figure={chart} />}
          <Bars figure={chart} isByDay={isByDay} />
          {hidden > 0 && (
            <Text size="xs" c="dimmed">
              The first {chart.bars.length}; the table has {hidden} more.
            </Text>
          )}
          <FigureTable name={name} table={table} />
        </>
      )}
    </Box>
  );
}

/** The series by name, with what each adds up to. */
function Legend({ figure: { series, bars, measure } }: { figure: BarFigure }) {
  const total = ({ key }: Series) => sumOf(bars, ({ parts }) => parts[key] ?? 0);
  return (
    <Group component="ul" gap="4px 16px" mt="sm" fz="row">
      {series.map((one) => (
        <LegendItem key={one.key} check={one.check}>
          {one.label}{' '}
          <Text span inherit c="dimmed" className="figures">
            {shortValue(measure, total(one))}
          </Text>
        </LegendItem>
      ))}
    </Group>
  );
}
