import { SegmentedControl } from '@mantine/core';
import type { ReactNode } from 'react';
import { useSearchParams } from 'react-router';
import { currentParams } from '../../../lib/use-url-text.ts';
import { type BarFigure, type Figure, type Series, sumOf } from '../model/figures.ts';
import { shortValue } from '../model/measures.ts';
import { withValue } from '../model/numbers-address.ts';
import { Bars } from './bars.tsx';
import { FigureTable } from './figure-table.tsx';
import { Swatch } from './looks.tsx';
import css from './numbers.module.css';

interface SwitchProps {
  /** The name of the value in the address. */
  name: string;
  /** What is chosen, for screen readers. */
  label: string;
  value: string;
  options: readonly { value: string; label: string }[];
}

/** Chooses one of a few values, which the address keeps. */
export function AddressSwitch({ name, label, value, options }: SwitchProps) {
  const [, setParams] = useSearchParams();
  return (
    <SegmentedControl
      size="xs"
      className={css.switch}
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
export function FigureSection({ title, about, switches, name, figure, isByDay, empty }: FigureSectionProps) {
  const { chart, table } = figure;
  const hidden = isByDay ? 0 : chart.total - chart.bars.length;
  return (
    <section className={css.figure} aria-label={title}>
      <div className={css.figureHead}>
        <h2>{title}</h2>
        <div className={css.switches}>{switches}</div>
      </div>
      <p className={css.about}>{about}</p>
      {table.rows.length === 0 ? (
        <p className={css.empty}>{empty}</p>
      ) : (
        <>
          {chart.series.length > 1 && <Legend figure={chart} />}
          <Bars figure={chart} isByDay={isByDay} />
          {hidden > 0 && (
            <p className={css.hint}>
              The first {chart.bars.length}; the table has {hidden} more.
            </p>
          )}
          <FigureTable name={name} table={table} />
        </>
      )}
    </section>
  );
}

/** The series by name, with what each adds up to. */
function Legend({ figure: { series, bars, measure } }: { figure: BarFigure }) {
  const total = ({ key }: Series) => sumOf(bars, ({ parts }) => parts[key] ?? 0);
  return (
    <ul className={css.legend}>
      {series.map((one) => (
        <li key={one.key}>
          <Swatch check={one.check} />
          {one.label} <span className="figures">{shortValue(measure, total(one))}</span>
        </li>
      ))}
    </ul>
  );
}
