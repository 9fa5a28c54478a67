import { type BoardView, RequestKind } from '@callboard/contract';
import { Button, NativeSelect, TextInput } from '@mantine/core';
import { IconChevronDown, IconChevronUp } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import clsx from 'clsx';
import { useState } from 'react';
import { type NavigateOptions, useSearchParams } from 'react-router';
import { boardQuery } from '../../../data/queries.ts';
import { currentParams, useUrlText } from '../../../lib/use-url-text.ts';
import { requestKinds } from '../../interaction/kinds/registry.ts';
import { ALL, filterCount, type LogFilter, readLogFilter, writeLogFilter } from '../model/log-filter.ts';
import { LOG_SOURCE_TEXTS, OUTCOME_TEXTS } from '../model/log-words.ts';
import css from './decision-log.module.css';

const choices = (view: BoardView) => ({
  projects: view.projects.map(({ id, name }) => ({ value: String(id), label: name })),
  stages: view.stages
    .filter(({ session }) => session !== null)
    .map(({ id, title }) => ({ value: String(id), label: title })),
});
const options = (texts: Readonly<Record<string, string>>) =>
  Object.entries(texts).map(([value, label]) => ({ value, label }));

const KINDS = RequestKind.options.map((kind) => ({ value: kind, label: requestKinds[kind].name }));

/** The filters of the log. They are kept in the URL. @param devices that can be chosen */
export function LogFilters({ filter, devices }: { filter: LogFilter; devices: readonly string[] }) {
  const { data } = useQuery({ ...boardQuery, select: choices });
  const [, setParams] = useSearchParams();
  const [isOpen, setOpen] = useState(false); // folded on a phone, where the filters would fill half of the screen
  const count = filterCount(filter);
  const { projects = [], stages = [] } = data ?? {};
  const set = (change: Partial<LogFilter>, options: NavigateOptions = { replace: true }) =>
    setParams(writeLogFilter({ ...readLogFilter(currentParams()), ...change }), options);
  const [who, typeWho] = useUrlText(filter.who, (typed, options) => set({ who: typed }, options));
  const select = (
    name: 'project' | 'stage' | 'kind' | 'outcome' | 'source' | 'device',
    label: string,
    all: string,
    data: Option[],
  ) => (
    <NativeSelect
      className={css.field}
      aria-label={label}
      data={[{ value: '', label: all }, ...withChosen(data, filter[name])]}
      value={filter[name]}
      onChange={(event) => set({ [name]: event.currentTarget.value })}
    />
  );
  const day = (name: 'from' | 'to', label: string) => (
    <TextInput
      type="date"
      className={clsx(css.field, css.day)}
      label={label}
      value={filter[name]}
      onChange={(event) => set({ [name]: event.currentTarget.value })}
    />
  );
  return (
    <search className={css.filters} data-open={isOpen} aria-label="Filter the decisions">
      <Button
        hiddenFrom="sm"
        className={css.toggle}
        variant="default"
        aria-expanded={isOpen}
        rightSection={isOpen ? <IconChevronUp size={14} /> : <IconChevronDown size={14} />}
        onClick={() => setOpen(!isOpen)}
      >
        Filters{count > 0 && ` (${count} set)`}
      </Button>
      {(projects.length > 1 || filter.project !== '') && select('project', 'Project', 'All projects', projects)}
      {select('stage', 'Stage', 'All stages', stages)}
      {select('kind', 'Kind', 'All kinds', KINDS)}
      {select('outcome', 'Outcome', 'All outcomes', options(OUTCOME_TEXTS))}
      {select('source', 'Source', 'All sources', options(LOG_SOURCE_TEXTS))}
      <TextInput
        className={clsx(css.field, css.who)}
        aria-label="Decided by"
        placeholder="Decided by"
        value={who}
        onChange={(event) => typeWho(event.currentTarget.value)}
      />
      {(devices.length > 1 || filter.device !== '') &&
        select(
          'device',
          'Device',
          'All devices',
          devices.map((device) => ({ value: device, label: device })),
        )}
      {day('from', 'From')}
      {day('to', 'To')}
      {count > 0 && (
        <Button className={css.all} variant="subtle" size="compact-sm" onClick={() => set(ALL)}>
          Show all
        </Button>
      )}
    </search>
  );
}

interface Option {
  value: string;
  label: string;
}

/** Adds the value from the URL to the options, even if it no longer exists. */
const withChosen = (data: Option[], chosen: string): Option[] =>
  chosen === '' || data.some(({ value }) => value === chosen) ? data : [{ value: chosen, label: chosen }, ...data];
