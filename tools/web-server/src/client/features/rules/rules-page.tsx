import { type BoardView, ProjectId, type UsedRule } from '@callboard/contract';
import { Flex, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type NavigateOptions, useSearchParams } from 'react-router';
import { boardQuery, rulesQuery } from '../../data/queries.ts';
import { count } from '../../lib/format.ts';
import { currentParams, useUrlText } from '../../lib/hooks.ts';
import { ErrorNote } from '../../ui/notes.tsx';
import { Empty, FullPage, Hint, Scroll, Toolbar } from '../../ui/primitives.tsx';
import { EndedRules, REMOVAL_TEXTS, RepositorySettings, RuleRows } from './project-rules.tsx';

const titles = (view: BoardView) => new Map(view.stages.map(({ id, title }) => [String(id), title]));

/** The rules of all projects: what they were used for, and the button that removes each. */
export default function RulesPage() {
  const [params] = useSearchParams();
  const filter = readRuleFilter(params);
  const { data, error, refetch } = useQuery(rulesQuery(null));
  const { data: titleOf } = useQuery({ ...boardQuery, select: titles });
  const isShown = (rule: UsedRule) => matchesRule(rule, filter, (stageId) => titleOf?.get(stageId) ?? stageId);
  const newest = (rules: readonly UsedRule[]) => rules.toSorted((a, b) => b.createdAt.localeCompare(a.createdAt));
  const rules = newest(data?.rules.filter(isShown) ?? []);
  const ended = data?.ended.filter(isShown) ?? [];
  const projectId = ProjectId.safeParse(filter.project).data;
  return (
    <FullPage>
      <Toolbar>
        <h1>Rules</h1>
        <Hint span size="xs" role="status">
          {data !== undefined && count(rules.length, 'rule')}
        </Hint>
        <RuleFilters filter={filter} />
      </Toolbar>
      <Scroll aria-label="Always allowed">
        <Stack maw={960} p="12px 16px 32px">
          {error !== null && (
            <ErrorNote lead="The rules could not be read." error={error} retry={() => void refetch()} />
          )}
          {data !== undefined && rules.length === 0 && (
            <Empty>
              {filter.project === '' && filter.text === ''
                ? 'No rules yet. “Always allow …” on a request adds one.'
                : 'No rule matches these filters.'}
            </Empty>
          )}
          {rules.length > 0 && (
            <>
              <Hint>{REMOVAL_TEXTS}</Hint>
              <RuleRows rules={rules} namesProject />
            </>
          )}
          <EndedRules rules={ended} namesProject />
          {projectId !== undefined && <RepositorySettings key={projectId} projectId={projectId} />}
        </Stack>
      </Scroll>
    </FullPage>
  );
}

const projectChoices = (view: BoardView) => view.projects.map(({ id, name }) => ({ value: String(id), label: name }));

/** The filters of the page. They are kept in the URL. */
function RuleFilters({ filter }: { filter: RuleFilter }) {
  const { data: projects = [] } = useQuery({ ...boardQuery, select: projectChoices });
  const [, setParams] = useSearchParams();
  const set = (change: Partial<RuleFilter>, options: NavigateOptions = { replace: true }) =>
    setParams(writeRuleFilter({ ...readRuleFilter(currentParams()), ...change }), options);
  const [text, type] = useUrlText(filter.text, (typed, options) => set({ text: typed }, options));
  return (
    <Flex component="search" align="center" flex="0 1 560px" wrap="nowrap" gap="sm" aria-label="Filter the rules">
      {(projects.length > 1 || filter.project !== '') && (
        <NativeSelect
          aria-label="Project"
          data={[{ value: '', label: 'All projects' }, ...projects]}
          value={filter.project}
          onChange={(event) => set({ project: event.currentTarget.value })}
        />
      )}
      <TextInput
        aria-label="Text in the rule"
        placeholder="Rule, person, stage or command"
        flex={1}
        value={text}
        onChange={(event) => type(event.currentTarget.value)}
      />
    </Flex>
  );
}

/** Which rules are shown, as written in the URL. An empty value means all. */
export interface RuleFilter {
  project: string;
  text: string;
}

const readRuleFilter = (params: URLSearchParams): RuleFilter => ({
  project: params.get('project') ?? '',
  text: params.get('text') ?? '',
});

/** Returns the URL query for a filter. */
const writeRuleFilter = (filter: RuleFilter): URLSearchParams =>
  new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ''));

/** Whether the filter shows a rule. The text is looked for in the rule, in who granted it, in its stage and in what it was used for. */
function matchesRule(rule: UsedRule, filter: RuleFilter, titleOf: (stageId: string) => string): boolean {
  if (filter.project !== '' && rule.projectId !== filter.project) return false;
  const { by, stageId, usedFor } = rule;
  const texts = [rule.rule, by ?? '', stageId === null ? '' : titleOf(stageId), ...usedFor.map(({ asked }) => asked)];
  const wanted = filter.text.trim().toLowerCase();
  return texts.some((text) => text.toLowerCase().includes(wanted));
}
