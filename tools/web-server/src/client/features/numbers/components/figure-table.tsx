import { Button } from '@mantine/core';
import { IconChevronDown, IconChevronUp, IconDownload } from '@tabler/icons-react';
import { useId, useState } from 'react';
import { saveFile } from '../../../lib/save-file.ts';
import { csvOf, formatCell, isNumber, type TableFigure } from '../model/figures.ts';
import css from './numbers.module.css';

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
      <div className={css.tools}>
        <Button
          variant={'subtle'}
          color={'gray'}
          size={'compact-sm'}
          className={css.tool}
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
          className={css.tool}
          aria-label={`Export CSV: ${name}`}
          rightSection={<IconDownload size={14} aria-hidden />}
          onClick={save}
        >
          Export CSV
        </Button>
      </div>
      <div id={id} hidden={!isOpen}>
        {isOpen && <Rows name={name} table={table} />}
      </div>
    </>
  );
}

function Rows({ name, table: { columns, rows } }: FigureTableProps) {
  const cell = (at: number) => (columns[at] !== undefined && isNumber(columns[at]) ? css.number : undefined);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard
    <section className={css.rows} aria-label={`Table: ${name}`} tabIndex={0}>
      <table className={css.table}>
        <caption className="visually-hidden">{name}</caption>
        <thead>
          <tr>
            {columns.map(({ title }, at) => (
              <th key={title} scope="col" className={cell(at)}>
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
                  <td key={column.title} className={cell(at)}>
                    {text}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MAX_ROWS && (
        <p className={css.hint}>
          The first {MAX_ROWS} of {rows.length} rows. The CSV file has all of them.
        </p>
      )}
    </section>
  );
}
