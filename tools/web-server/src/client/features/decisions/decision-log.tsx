import {
  type BoardView,
  byWhom,
  type Decision,
  type DecisionFilter,
  DecisionSource,
  isUnsettled,
  ProjectId,
  RequestKind,
  RequestOutcome,
  StageId,
} from '@callboard/contract';
import { routes } from '@callboard/contract/client';
import { Button, Flex, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { IconChevronDown, IconChevronUp } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link, type NavigateOptions, useSearchParams } from 'react-router';
import { boardQuery, decisionLogQuery, stageOf } from '../../data/queries.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { denierText } from '../../lib/denial-text.ts';
import { saveFile } from '../../lib/files.ts';
import { exactDuration, requestKey } from '../../lib/format.ts';
import { currentParams, useUrlText } from '../../lib/hooks.ts';
import { KindIcon, ProjectMark, StageIdText } from '../../ui/marks.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Columns, Empty, Facts, FullPage, Hint, IconLine, Output, Scroll, Toolbar } from '../../ui/primitives.tsx';
import { TimeSince } from '../../ui/text.tsx';
import { asReadBy, deliveryText, withText } from '../approvals/kinds/decision-text.ts';
import { requestKinds } from '../approvals/kinds/registry.ts';
import css from './decision-log.module.css';
import { LostNote, SettleActions } from './unsettled-answers.tsx';

/** Every ended request: who decided what and when, how long Claude waited, and how the answer arrived. */
export default function DecisionLog() {
  const [params] = useSearchParams();
  const filter = readLogFilter(params);
  const log = useInfiniteQuery(decisionLogQuery(toQuery(filter)));
  const decisions = log.data?.pages.flatMap((page) => page.decisions) ?? [];
  const devices = [...new Set(decisions.flatMap(({ device }) => device ?? []))].sort();
  return (
    <FullPage>
      <Toolbar>
        <h1>Decisions</h1>
        <Group ml="auto">
          <ExportButton filter={toQuery(filter)} format="csv">
            Export CSV
          </ExportButton>
          <ExportButton filter={toQuery(filter)} format="jsonl">
            Export JSON Lines
          </ExportButton>
        </Group>
      </Toolbar>
      <LogFilters filter={filter} devices={devices} />
      <Scroll aria-label="Decision log" aria-busy={log.isFetching}>
        {log.error !== null && (
          <ErrorNote lead="The log could not be read." error={log.error} retry={() => void log.refetch()} />
        )}
        {log.isSuccess && decisions.length === 0 && (
          <Empty>
            {isFiltering(filter)
              ? 'No decision matches these filters.'
              : 'No decisions yet. Every answer to Claude is listed here, with who gave it.'}
          </Empty>
        )}
        <ol>
          {decisions.map((decision) => (
            <DecisionRow key={requestKey(decision)} decision={decision} />
          ))}
        </ol>
        {log.hasNextPage && (
          <Button
            display="block"
            mx="auto"
            my="md"
            variant="default"
            loading={log.isFetchingNextPage}
            onClick={() => void log.fetchNextPage()}
          >
            Show older
          </Button>
        )}
      </Scroll>
    </FullPage>
  );
}

const NAMES = ['project', 'stage', 'kind', 'outcome', 'source', 'who', 'device', 'from', 'to'] as const;

/** The filter of the decision log as written in the URL. An empty value means all. `from` and `to` are days. */
export type LogFilter = Record<(typeof NAMES)[number], string>;

export const ALL: LogFilter = {
  project: '',
  stage: '',
  kind: '',
  outcome: '',
  source: '',
  who: '',
  device: '',
  from: '',
  to: '',
};

export function readLogFilter(params: URLSearchParams): LogFilter {
  const filter = { ...ALL };
  for (const name of NAMES) filter[name] = params.get(name) ?? '';
  return filter;
}

/** Returns the URL query for a filter. */
export function writeLogFilter(filter: LogFilter): URLSearchParams {
  return new URLSearchParams(NAMES.filter((name) => filter[name] !== '').map((name) => [name, filter[name]]));
}

/** Returns how many values of the filter are set. */
const filterCount = (filter: LogFilter): number => NAMES.filter((name) => filter[name] !== '').length;

export const isFiltering = (filter: LogFilter): boolean => filterCount(filter) > 0;

/** Returns the server's query for a filter. Invalid values in the URL are left out. */
export function toQuery({ project, stage, kind, outcome, source, who, device, from, to }: LogFilter): DecisionFilter {
  return {
    projectId: ProjectId.safeParse(project).data,
    stageId: StageId.safeParse(stage).data,
    kind: RequestKind.safeParse(kind).data,
    outcome: RequestOutcome.safeParse(outcome).data,
    source: DecisionSource.safeParse(source).data,
    by: who === '' ? undefined : who,
    device: device === '' ? undefined : device,
    since: dayStart(from, 0),
    before: dayStart(to, 1),
  };
}

/** Returns the start of a day in local time, `later` days after `day`. */
function dayStart(day: string, later: number): string | undefined {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day) ?? [];
  if (year === undefined) return undefined;
  const start = new Date(Number(year), Number(month) - 1, Number(date) + later);
  return Number.isNaN(start.getTime()) ? undefined : start.toISOString();
}

/** One decision. Its reason, answers and changed input can be unfolded. */
function DecisionRow({ decision }: { decision: Decision }) {
  const { outcome, at, asked, toolName, kind } = decision;
  const { data: me = '' } = useQuery({ ...boardQuery, select: (view) => view.me.name });
  const arrival = arrivalText(decision);
  return (
    <li className={css.row}>
      <div>
        <IconLine>
          <KindIcon kind={kind} toolName={toolName} />
          <code>{asked === '' ? toolName : asked}</code>
        </IconLine>
        <Stack gap={2} pl={24} align="flex-start">
          <Facts fz="xs">
            <StageName decision={decision} />
            <span>{requestKinds[kind].name}</span>
            <span>{waitText(decision)}</span>
            {arrival !== null && <span>{arrival}</span>}
          </Facts>
          <Said decision={decision} />
          {decision.lost !== null && (
            <Text className="pre-wrap" size="row">
              <LostNote lost={decision.lost} />
            </Text>
          )}
          {isUnsettled(decision) && decision.isStageDeleted !== true && <SettleActions decision={decision} />}
        </Stack>
      </div>
      <Text inherit fw={500} c={outcome === 'closed' ? 'dimmed' : undefined} title={verdictLabel(decision)}>
        {verdictLabel(asReadBy(me, decision))}
      </Text>
      <Hint ta="right" className="figures">
        <TimeSince at={at} ago />
      </Hint>
    </li>
  );
}

/** The stage's title, even if the stage was deleted since; another stage may have its id by now. */
function StageName({ decision: { stageId, stageTitle, isStageDeleted } }: { decision: Decision }) {
  const { data: title } = useQuery({ ...boardQuery, select: (view) => stageOf(stageId)(view)?.title });
  const { data: project = '' } = useQuery({ ...boardQuery, select: projectNameOf(stageId) });
  if (title !== undefined && isStageDeleted !== true)
    return (
      <Flex component="span" gap={6} align="center">
        <ProjectMark name={project} size={10} />
        <Link to={`/stages/${stageId}`}>{title}</Link>
        <StageIdText id={stageId} />
      </Flex>
    );
  return <span>{stageTitle == null ? stageId : `${stageTitle} (${stageId}, deleted)`}</span>;
}

const projectNameOf = (stageId: StageId) => (view: BoardView) => {
  const projectId = stageOf(stageId)(view)?.projectId;
  return view.projects.find(({ id }) => id === projectId)?.name;
};

/** The reason, the answers and the changed input. */
function Said({ decision: { reason, answers, updatedInput, inputChange } }: { decision: Decision }) {
  const parts: ReactNode[] = Object.entries(answers ?? {}).map(([question, answer]) => (
    <Text className="pre-wrap" size="row" key={question}>
      {question} <strong>{answer}</strong>
    </Text>
  ));
  if (reason !== null) {
    parts.push(
      <Text className="pre-wrap" size="row" key="reason">
        {reason}
      </Text>,
    );
  }
  if (inputChange !== undefined) {
    parts.push(
      <details key="hook">
        <summary>A hook had changed the call; what Claude wrote</summary>
        <Output>{JSON.stringify(inputChange.from, null, 2)}</Output>
      </details>,
    );
  }
  if (updatedInput !== null) {
    parts.push(
      <details key="input">
        <summary>What was sent</summary>
        <Output>{JSON.stringify(updatedInput, null, 2)}</Output>
      </details>,
    );
  }
  return <>{parts}</>;
}

const OUTCOME_TEXTS: Record<RequestOutcome, string> = {
  allowed: 'Allowed',
  denied: 'Denied',
  answered: 'Answered',
  'timed-out': 'Timed out',
  closed: 'Closed without an answer',
};

/** Who or what decides. */
const LOG_SOURCE_TEXTS: Record<DecisionSource, string> = {
  person: 'A person was asked',
  mode: 'Claude Code: its mode',
  rule: 'Claude Code: a rule',
  hook: 'Claude Code: a hook',
  unknown: 'Claude Code: not told',
};

/** Returns the outcome and who decided: "Denied by Ada from Terminal on desk". */
export const verdictLabel = (decision: Decision): string => {
  const { outcome, kind, denial } = decision;
  if (denial !== null) return 'Denied by Claude Code';
  const word = outcome === 'denied' ? requestKinds[kind].denied : OUTCOME_TEXTS[outcome];
  return `${word}${withText(decision)} ${byWhom(decision)}`.trim();
};

/** Returns how long Claude waited; or what denied the call in Claude Code, if nobody was asked. */
export const waitText = ({ denial, waitedMs }: Decision): string =>
  denial === null ? `Claude waited ${exactDuration(waitedMs)}` : `By ${denierText(denial)}`;

/** Returns how the answer reached Claude; null if there was none. */
const arrivalText = (decision: Decision): string | null =>
  decision.delivery === 'confirmed' ? 'confirmed by Claude' : deliveryText(decision);

interface ExportProps {
  filter: DecisionFilter;
  format: 'csv' | 'jsonl';
  children: ReactNode;
}

/** Fetches the decision log with the page's own request and lets the browser save it as a file. */
function ExportButton({ filter, format, children }: ExportProps) {
  const save = useCommand({
    run: () => client.file(routes.get_decisions, { ...filter, format }),
    failed: 'The file was not made',
    done: (content) => saveFile(content, `decisions.${format}`),
  });
  return (
    <Button variant="default" size="compact-sm" loading={save.isPending} onClick={() => save.mutate(undefined)}>
      {children}
    </Button>
  );
}

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
function LogFilters({ filter, devices }: { filter: LogFilter; devices: readonly string[] }) {
  const { data } = useQuery({ ...boardQuery, select: choices });
  const [, setParams] = useSearchParams();
  const [isOpen, setOpen] = useState(false); // folded on a phone, where the filters would fill half of the screen
  const folded = isOpen ? {} : { visibleFrom: 'sm' as const };
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
      {...folded}
      aria-label={label}
      data={[{ value: '', label: all }, ...withChosen(data, filter[name])]}
      value={filter[name]}
      onChange={(event) => set({ [name]: event.currentTarget.value })}
    />
  );
  const day = (name: 'from' | 'to', label: string) => (
    <TextInput
      type="date"
      {...folded}
      aria-label={label}
      leftSection={label}
      leftSectionWidth={48}
      value={filter[name]}
      onChange={(event) => set({ [name]: event.currentTarget.value })}
    />
  );
  return (
    <search aria-label="Filter the decisions">
      <Columns min={168} px="lg" pb="md">
        <Button
          hiddenFrom="sm"
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
          {...folded}
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
          <Button variant="subtle" size="compact-sm" onClick={() => set(ALL)}>
            Show all
          </Button>
        )}
      </Columns>
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
