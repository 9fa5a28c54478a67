import type { Numbers, StageId } from '@callboard/contract';
import { Box, Button, Group, Paper, Text } from '@mantine/core';
import { IconChevronDown, IconChevronUp, IconDownload } from '@tabler/icons-react';
import { type ReactNode, useId, useState } from 'react';
import { Link } from 'react-router';
import { Bar, BarChart, CartesianGrid, LabelList, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';
import { saveFile } from '../../lib/files.ts';
import { count, exactDuration } from '../../lib/format.ts';
import { useNow } from '../../lib/hooks.ts';
import { Hint, Table } from '../../ui/primitives.tsx';
import {
  addUp,
  type BarFigure,
  csvOf,
  daysBetween,
  formatCell,
  formatDay,
  formatValue,
  isNumber,
  type Names,
  type Bar as OneBar,
  shortValue,
  sumOf,
  type TableFigure,
  ticksOf,
} from './figures.ts';
import css from './numbers.module.css';

const HEIGHT = 220;
const ROW_HEIGHT = 30;
const LABEL_WIDTH = 156;
/** As many letters as fit beside the rows. */
const LABEL_LETTERS = 20;
const TICK = { fill: 'var(--muted)', fontSize: 12 } as const;
const FIRST_SIZE = { width: 560, height: HEIGHT };

interface BarsProps {
  figure: BarFigure;
  /** Whether the bars stand, one for each day, or lie, one for each thing. */
  isByDay: boolean;
}

/** A chart of stacked bars. It is hidden from screen readers: the table beneath says the same. */
export function Bars({ figure, isByDay }: BarsProps) {
  const { measure, series, bars } = figure;
  const largest = Math.max(0, ...bars.map(totalOf));
  const ticks = ticksOf(measure, largest);
  const scale = { type: 'number', ticks, domain: [0, ticks.at(-1) ?? 1], tick: TICK } as const;
  const format = (value: number) => shortValue(measure, value);
  const height = isByDay ? HEIGHT : bars.length * ROW_HEIGHT + ROW_HEIGHT;
  return (
    <Box mt="sm" h={height} className="figures" aria-hidden>
      <ResponsiveContainer width="100%" height="100%" initialDimension={{ ...FIRST_SIZE, height }}>
        <BarChart
          data={[...bars]}
          layout={isByDay ? 'horizontal' : 'vertical'}
          margin={isByDay ? { top: 8, right: 8, bottom: 0, left: 0 } : { top: 0, right: 64, bottom: 0, left: 0 }}
          accessibilityLayer={false}
        >
          <CartesianGrid horizontal={isByDay} vertical={!isByDay} stroke="var(--line)" />
          {isByDay ? (
            <>
              <XAxis dataKey="label" tick={TICK} tickLine={false} stroke="var(--line-strong)" minTickGap={20} />
              <YAxis {...scale} tickFormatter={format} width={52} tickLine={false} axisLine={false} />
            </>
          ) : (
            <>
              <XAxis {...scale} tickFormatter={format} tickLine={false} axisLine={false} />
              <YAxis
                type={'category'}
                dataKey={'key'}
                width={LABEL_WIDTH}
                interval={0}
                tick={TICK}
                tickFormatter={(key: string) => cut(bars.find((bar) => bar.key === key)?.label ?? key)}
                tickLine={false}
                stroke="var(--line-strong)"
              />
            </>
          )}
          <Tooltip
            cursor={{ fill: 'var(--hover)' }}
            isAnimationActive={false}
            content={({ active, label }) => {
              const bar = bars.find((one) => one.key === label || one.label === label);
              return active && bar !== undefined ? <Tip bar={bar} figure={figure} /> : null;
            }}
          />
          {series.map(({ key, check }) => (
            <Bar
              key={key}
              stackId={'all'}
              maxBarSize={isByDay ? 32 : 18}
              isAnimationActive={false}
              dataKey={(bar: OneBar) => bar.parts[key] ?? 0}
              fill={fillOf(check)}
              stroke={strokeOf(check)}
            >
              {!isByDay && (
                <LabelList
                  dataKey={(bar: OneBar) => (lastPart(series, bar) === key ? totalOf(bar) : null)}
                  position="right"
                  formatter={(value) => (typeof value === 'number' ? format(value) : '')}
                  fill="var(--text)"
                  fontSize={12}
                />
              )}
            </Bar>
          ))}
        </BarChart>
      </ResponsiveContainer>
    </Box>
  );
}

/** The part at the end of a bar, which has its label: a part of 0 is not drawn. */
const lastPart = (series: BarFigure['series'], { parts }: OneBar): string | undefined =>
  series.findLast(({ key }) => (parts[key] ?? 0) > 0)?.key;

const totalOf = ({ parts }: OneBar): number => sumOf(Object.values(parts), (value) => value);

const cut = (label: string): string =>
  label.length > LABEL_LETTERS ? `${label.slice(0, LABEL_LETTERS - 1).trimEnd()}…` : label;

function Tip({ bar, figure: { series, measure } }: { bar: OneBar; figure: BarFigure }) {
  const parts = series.filter(({ key }) => (bar.parts[key] ?? 0) > 0);
  return (
    <Paper withBorder shadow="var(--shadow-menu)" bg="var(--raised)" p="8px 12px" fz="row">
      <strong>{bar.label}</strong>
      {parts.length === 0 && <Group gap={6}>Nothing</Group>}
      {parts.map(({ key, label, check }) => (
        <Group gap={6} key={key}>
          <Swatch check={check} />
          <span>{label}</span>
          <Text span inherit ml="auto" pl="md" className="figures">
            {formatValue(measure, bar.parts[key] ?? 0)}
          </Text>
        </Group>
      ))}
    </Paper>
  );
}

/** How many looks there are: each a colour and a pattern. */
const CHECKS = [1, 2, 3, 4, 5, 6] as const;

/** The strokes of each pattern, on 8 by 8: none, rising lines, dots, level lines, a lattice, upright lines. */
const STROKES = [
  '',
  'M-2 10 10 -2M-2 2 2 -2M6 10 10 6',
  '',
  'M0 2h8M0 6h8',
  'M0 0 8 8M8 0 0 8',
  'M2 0v8M6 0v8',
] as const;

const idOf = (check: number): string => `chart-look-${check}`;

/** What fills a series: a colour that people with any colour vision can tell apart, and a pattern beside it. */
const fillOf = (check: number): string => `url(#${idOf(check)})`;
const strokeOf = (check: number): string => `var(--chart-${check})`;

/** Defines the looks for all charts of a page. */
export const Checks = () => (
  <svg width={0} height={0} style={{ position: 'absolute' }} aria-hidden>
    <defs>
      {CHECKS.map((check) => (
        <pattern key={check} id={idOf(check)} width={8} height={8} patternUnits="userSpaceOnUse">
          <rect width={8} height={8} fill={strokeOf(check)} fillOpacity={check === 1 ? 1 : 0.28} />
          {check === 3 && (
            <g fill={strokeOf(check)}>
              <circle cx={2} cy={2} r={1.4} />
              <circle cx={6} cy={6} r={1.4} />
            </g>
          )}
          <path d={STROKES[check - 1]} stroke={strokeOf(check)} strokeWidth={1.6} fill="none" />
        </pattern>
      ))}
    </defs>
  </svg>
);

/** A sample of a look, and what it means. */
export const LegendItem = ({ check, children }: { check: number; children: ReactNode }) => (
  <Group component="li" gap={6}>
    <Swatch check={check} />
    <span>{children}</span>
  </Group>
);

const Swatch = ({ check }: { check: number }) => (
  <svg width={14} height={14} aria-hidden>
    <rect x={0.5} y={0.5} width={13} height={13} rx={2} fill={fillOf(check)} stroke={strokeOf(check)} />
  </svg>
);

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
    <Box component="section" py="lg" aria-label="Sessions over time">
      <h2>Sessions over time</h2>
      <Hint mt="xs">
        When Claude’s process ran, by stage; the stage that ran last comes first. Waits shorter than{' '}
        {exactDuration(leastMs)} are too narrow to draw, and not in the table and its CSV file.
        {leftOut > 0 && ` ${count(leftOut, 'older session')} left out.`}
        {waitsLeftOut > 0 && ` ${count(waitsLeftOut, 'older wait')} left out.`}
      </Hint>
      {rows.length === 0 ? (
        <Text c="dimmed" pt="xl" pb="sm">
          No session ran in this period.
        </Text>
      ) : (
        <>
          <Group component="ul" gap="4px 16px" mt="sm" fz="row">
            <LegendItem check={1}>Ran</LegendItem>
            <LegendItem check={4}>Waited for a person</LegendItem>
          </Group>
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
    </Box>
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
              stroke="var(--surface)"
              key={key}
              x={percent(start)}
              y={3}
              width={percent(Math.max(length, LEAST_PERCENT / 100))}
              height={10}
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

/** A stretch of the time line, as parts of its length. */
export interface Stretch {
  key: string;
  /** Where it begins and how long it is, from 0 to 1. */
  start: number;
  length: number;
  /** It has no end yet. */
  isOpen: boolean;
}

/** One stage: when its processes ran, and when they waited for a person. */
export interface TimelineRow {
  stageId: StageId;
  launches: Stretch[];
  waits: Stretch[];
  /** Within the days that are shown. */
  ranMs: number;
  /** All waits that ended in these days, also those too short to draw. */
  waitedMs: number;
  /** It waits for a person now. */
  isWaiting: boolean;
}

interface Span {
  from: string;
  to: string | null;
}

/** Places the launches and waits of each stage on a line, the stage that ran last first. `now` ends what is open. */
function timelineRows({ timeline, waits: ended, since, until }: Numbers, now: number): TimelineRow[] {
  const [begin, end] = [Date.parse(since), Date.parse(until)];
  const clip = ({ from, to }: Span) => {
    const start = Math.max(begin, Date.parse(from));
    return { start, end: Math.max(start, Math.min(end, to === null ? now : Date.parse(to))) };
  };
  const stretch = (span: Span): Stretch => {
    const at = clip(span);
    return {
      key: `${span.from} ${span.to}`,
      isOpen: span.to === null,
      start: (at.start - begin) / (end - begin),
      length: (at.end - at.start) / (end - begin),
    };
  };
  const lasted = (spans: readonly Span[]) => sumOf(spans.map(clip), (at) => at.end - at.start);
  const launches = Map.groupBy(timeline.launches.map(spanOf), ({ stageId }) => stageId);
  const waits = Map.groupBy(timeline.waits, ({ stageId }) => stageId);
  const waitedOf = addUp(
    ended.stages,
    ({ stageId }) => stageId,
    ({ waitedMs }) => waitedMs,
  );
  const lastOf = ({ stageId }: TimelineRow) => Math.max(...(launches.get(stageId) ?? []).map((span) => clip(span).end));
  return [...launches]
    .map(([stageId, spans]) => {
      const waited = waits.get(stageId) ?? [];
      return {
        stageId,
        launches: spans.map(stretch),
        waits: waited.map(stretch),
        ranMs: lasted(spans),
        waitedMs: waitedOf.get(stageId) ?? 0,
        isWaiting: waited.some(({ to }) => to === null),
      };
    })
    .toSorted((a, b) => lastOf(b) - lastOf(a));
}

const spanOf = ({ stageId, startedAt, endedAt }: Numbers['timeline']['launches'][number]) => ({
  stageId,
  from: startedAt,
  to: endedAt,
});

/** The launches and waits of the time line as a table, the newest first. */
function timelineTable({ timeline }: Numbers, { titleOf, projectOf }: Names, now: number): TableFigure {
  const spans = [
    ...timeline.launches.map((launch) => ({ ...spanOf(launch), what: 'Session' })),
    ...timeline.waits.map((wait) => ({ ...wait, what: 'Waited for a person' })),
  ].toSorted((a, b) => b.from.localeCompare(a.from));
  return {
    columns: [
      { title: 'Stage', file: 'stage', measure: 'text' },
      { title: 'Project', file: 'project', measure: 'text' },
      { title: 'What', file: 'what', measure: 'text' },
      { title: 'From', file: 'from', measure: 'time' },
      { title: 'To', file: 'to', measure: 'time' },
      { title: 'Lasted', file: 'seconds', measure: 'duration' },
    ],
    rows: spans.map(({ stageId, what, from, to }) => [
      ...[titleOf(stageId), projectOf(stageId), what, from, to],
      (to === null ? now : Date.parse(to)) - Date.parse(from),
    ]),
  };
}

/** How many rows the page shows; the file has all of them. */
const MAX_ROWS = 300;

interface FigureTableProps {
  /** What the table is about: "Waits by day". */
  name: string;
  table: TableFigure;
}

/** The numbers of a chart as a table, which opens on demand, and as a file. */
export function FigureTable({ name, table }: FigureTableProps) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const Icon = isOpen ? IconChevronUp : IconChevronDown;
  const save = () =>
    saveFile(
      new Blob([csvOf(table)], { type: 'text/csv;charset=utf-8' }),
      `${name.toLowerCase().replaceAll(/\W+/g, '-')}.csv`,
    );
  return (
    <>
      <Group gap="xs" ml={-8} mt="xs">
        <Button
          variant={'subtle'}
          color={'gray'}
          size={'compact-sm'}
          aria-expanded={isOpen}
          aria-controls={id}
          aria-label={`${name}, as a table`}
          rightSection={<Icon size={14} aria-hidden />}
          onClick={() => setOpen(!isOpen)}
        >
          Table
        </Button>
        <Button
          variant={'subtle'}
          color={'gray'}
          size={'compact-sm'}
          aria-label={`Export CSV: ${name}`}
          rightSection={<IconDownload size={14} aria-hidden />}
          onClick={save}
        >
          Export CSV
        </Button>
      </Group>
      <div id={id} hidden={!isOpen}>
        {isOpen && <Rows name={name} table={table} />}
      </div>
    </>
  );
}

function Rows({ name, table: { columns, rows } }: FigureTableProps) {
  const isFigure = (at: number) => (columns[at] !== undefined && isNumber(columns[at])) || undefined;
  return (
    <Paper
      withBorder
      mt="xs"
      mah={320}
      style={{ overflow: 'auto' }}
      component="section"
      aria-label={`Table: ${name}`}
      tabIndex={0}
    >
      <Table>
        <caption className="visually-hidden">{name}</caption>
        <thead>
          <tr>
            {columns.map(({ title }, at) => (
              <th key={title} scope="col" data-number={isFigure(at)}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_ROWS).map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the rows are replaced as a whole, and nothing else tells two equal ones apart
            <tr key={index}>
              {columns.map((column, at) => {
                const text = formatCell(column, row[at] ?? null);
                return at === 0 ? (
                  <th key={column.title} scope="row">
                    {text}
                  </th>
                ) : (
                  <td key={column.title} data-number={isFigure(at)}>
                    {text}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </Table>
      {rows.length > MAX_ROWS && (
        <Hint size="xs" p="8px 12px">
          The first {MAX_ROWS} of {rows.length} rows. The CSV file has all of them.
        </Hint>
      )}
    </Paper>
  );
}
