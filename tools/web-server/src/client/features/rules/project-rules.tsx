import { type PermissionRule, type ProjectId, type StageId, type UsedRule, visibleText } from '@callboard/contract';
import { Anchor, Button, Flex } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from 'react-router';
import { boardQuery, refreshRules, rulesQuery, stageOf } from '../../data/queries.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { count, exactTime } from '../../lib/format.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { ProjectMark } from '../../ui/marks.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Entry, Hint, Tag } from '../../ui/primitives.tsx';
import { Seen, TimeSince } from '../../ui/text.tsx';
import TrustPanel from '../trust/trust-panel.tsx';

/** The kept rules of a project and its stages, and the settings that its repository brings. */
export default function ProjectRules({ projectId }: { projectId: ProjectId }) {
  const { data, error, refetch } = useQuery(rulesQuery(projectId));
  return (
    <>
      {error !== null && <ErrorNote lead="The rules could not be read." error={error} retry={() => void refetch()} />}
      {data !== undefined && (
        <>
          <SavedRules rules={data.rules} />
          <EndedRules rules={data.ended} />
        </>
      )}
      <RepositorySettings projectId={projectId} />
    </>
  );
}

function SavedRules({ rules }: { rules: readonly UsedRule[] }) {
  return (
    <Flex component="section" direction="column" mb="xl" gap="sm" aria-labelledby="rules-kept">
      <h3 id="rules-kept">Always allowed</h3>
      {rules.length === 0 ? (
        <Hint>No rules yet. “Always allow …” on a request adds one.</Hint>
      ) : (
        <>
          <RuleRows rules={rules} />
          <Hint>{REMOVAL_TEXTS}</Hint>
        </>
      )}
    </Flex>
  );
}

/** What the repository's own settings would enable. */
export const RepositorySettings = ({ projectId }: { projectId: ProjectId }) => (
  <Flex component="section" direction="column" mb="xl" gap="sm" aria-labelledby="rules-repository">
    <h3 id="rules-repository">From the repository’s settings</h3>
    <TrustPanel place={{ projectId }} />
  </Flex>
);

interface RuleRowsProps {
  rules: readonly UsedRule[];
  /** Names the project of each rule, where several are listed. */
  namesProject?: boolean;
}

/** Rules that apply, each with its use and the button that removes it. */
export function RuleRows({ rules, namesProject = false }: RuleRowsProps) {
  return (
    <ul>
      {rules.map((rule) => (
        <RuleRow key={rule.ruleId} rule={rule} namesProject={namesProject} />
      ))}
    </ul>
  );
}

/** What running sessions do once a rule is removed. */
export const REMOVAL_TEXTS =
  'Every session starts with these. Once you remove a rule, running sessions ask again; a folder or a host still holds in them until their process ends.';

const KIND_TEXTS = { directory: 'Folder', host: 'Network' } as const;

function RuleRow({ rule, namesProject }: { rule: UsedRule; namesProject: boolean }) {
  const remove = useRemoveRule();
  const canCommand = useCanCommand();
  const project = useProjectNameOf(rule);
  const of = namesProject ? ` of ${project}` : '';
  return (
    <Entry>
      <div>
        <RuleText rule={rule} />
        <Hint component="div">
          {namesProject && <ProjectName name={project} />}
          {rule.stageId === null ? 'all stages of the project' : <OneStage stageId={rule.stageId} />}
          {rule.by !== null && `, by ${rule.by}`}, <TimeSince at={rule.createdAt} ago />
          {rule.expiresAt !== null && `, until ${exactTime(rule.expiresAt)}`}
        </Hint>
        <Use rule={rule} />
      </div>
      <Button
        variant="default"
        size="compact-md"
        aria-label={`Remove ${visibleText(rule.rule, 'command')}${of}`}
        disabled={!canCommand}
        loading={remove.isPending}
        onClick={() => remove.mutate(rule)}
      >
        Remove
      </Button>
    </Entry>
  );
}

function RuleText({ rule }: { rule: UsedRule }) {
  return (
    <>
      {rule.kind !== 'allow' && <Hint span>{KIND_TEXTS[rule.kind]} </Hint>}
      <Tag>
        <code>
          <Seen text={rule.rule} kind="command" />
        </code>
      </Tag>
    </>
  );
}

const useProjectNameOf = ({ projectId }: UsedRule): string =>
  useQuery({ ...boardQuery, select: (view) => view.projects.find(({ id }) => id === projectId)?.name }).data ??
  projectId;

const ProjectName = ({ name }: { name: string }) => (
  <>
    <ProjectMark name={name} size={10} /> {name}:{' '}
  </>
);

/** How often a rule was used, what for, and where it was last. */
function Use({ rule }: { rule: UsedRule }) {
  const { uses, lastUsedAt, usedFor, lastUses } = rule;
  if (uses === null)
    return (
      <Hint component="div">
        {rule.endedAt === null
          ? 'Claude Code does not report when it is used. If removed, it still applies in running sessions until their process ends.'
          : 'It may still hold in sessions that ran then, until their process ends.'}
      </Hint>
    );
  if (uses === 0 || lastUsedAt === null) return <Hint component="div">Not used yet</Hint>;
  return (
    <Hint component="details">
      <summary>
        Used {count(uses, 'time')}, last <TimeSince at={lastUsedAt} ago />
      </summary>
      <Flex component="ul" direction="column" gap={2} my="xs" pl="lg" aria-label="What for">
        {usedFor.map((one) => (
          <li key={one.asked}>
            {visibleText(one.asked, 'command')}: {count(one.count, 'time')}
          </li>
        ))}
      </Flex>
      <Flex component="ul" direction="column" gap={2} my="xs" pl="lg" aria-label="Last uses">
        {lastUses.map((one) => (
          <li key={`${one.stageId}/${one.entry}/${one.at}`}>
            <TimeSince at={one.at} ago />, <UsedIn {...one} />
            {usedFor.length > 1 && `: ${visibleText(one.asked, 'command')}`}
          </li>
        ))}
      </Flex>
    </Hint>
  );
}

/** The call in its stage; only the stage's id if that is gone. */
function UsedIn({ stageId, entry }: UsedRule['lastUses'][number]) {
  const title = useTitle(stageId);
  if (title === undefined) return <>{stageId}, deleted</>;
  return (
    <Anchor component={Link} to={`/stages/${stageId}${entry === null ? '' : `?entry=${entry}`}`} inherit>
      {title}
    </Anchor>
  );
}

const useTitle = (stageId: StageId): string | undefined =>
  useQuery({ ...boardQuery, select: (view) => stageOf(stageId)(view)?.title }).data;

function OneStage({ stageId }: { stageId: StageId }) {
  return (
    <>
      stage “
      <Anchor component={Link} to={`/stages/${stageId}`} inherit>
        {useTitle(stageId) ?? stageId}
      </Anchor>
      ”
    </>
  );
}

/** Rules that were removed, or whose end date has come. */
export function EndedRules({ rules, namesProject = false }: RuleRowsProps) {
  if (rules.length === 0) return null;
  return (
    <Flex component="details" direction="column" mb="xl" gap="sm">
      <summary>Ended: {rules.length}</summary>
      <ul>
        {rules.map((rule) => (
          <EndedRule key={rule.ruleId} rule={rule} namesProject={namesProject} />
        ))}
      </ul>
    </Flex>
  );
}

function EndedRule({ rule, namesProject }: { rule: UsedRule; namesProject: boolean }) {
  const project = useProjectNameOf(rule);
  return (
    <Entry>
      <div>
        <RuleText rule={rule} />
        <Hint component="div">
          {namesProject && <ProjectName name={project} />}
          {rule.endedBy === null ? 'ended by its date' : `removed by ${rule.endedBy}`},{' '}
          <TimeSince at={rule.endedAt ?? rule.expiresAt ?? rule.createdAt} ago />
        </Hint>
        <Use rule={rule} />
      </div>
    </Entry>
  );
}

/** Removes a kept rule. */
function useRemoveRule() {
  const cache = useQueryClient();
  return useCommand({
    run: ({ ruleId }: PermissionRule) => client.command('remove_rule', { ruleId }),
    failed: ({ rule }) => `${rule} still holds`,
    done: () => refreshRules(cache),
  });
}
