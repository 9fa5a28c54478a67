import { Bar, BarChart, CartesianGrid, LabelList, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';
import { type BarFigure, type Bar as OneBar, sumOf } from '../model/figures.ts';
import { formatValue, shortValue, ticksOf } from '../model/measures.ts';
import { fillOf, Swatch, strokeOf } from './looks.tsx';
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
    <div className={css.chart} style={{ height }} aria-hidden>
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
    </div>
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
    <div className={css.tip}>
      <div className={css.tipHead}>{bar.label}</div>
      {parts.length === 0 && <div className={css.tipPart}>Nothing</div>}
      {parts.map(({ key, label, check }) => (
        <div key={key} className={css.tipPart}>
          <Swatch check={check} />
          <span>{label}</span>
          <span className="figures">{formatValue(measure, bar.parts[key] ?? 0)}</span>
        </div>
      ))}
    </div>
  );
}
