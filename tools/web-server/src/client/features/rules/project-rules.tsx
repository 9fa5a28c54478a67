import { type PermissionRule, type ProjectId, type StageId, type UsedRule, visibleText } from '@callboard/contract';
import { Anchor, Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from 'react-router';
import { boardQuery, refreshRules, rulesQuery, stageOf } from '../../data/queries.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { count, exactTime } from '../../lib/format.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import css from '../../ui/content.module.css';
import { ProjectMark } from '../../ui/marks.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
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
    <section className={css.dialogPart} aria-labelledby="rules-kept">
      <h3 id="rules-kept">Always allowed</h3>
      {rules.length === 0 ? (
        <p className={css.hint}>No rules yet. “Always allow …” on a request adds one.</p>
      ) : (
        <>
          <RuleRows rules={rules} />
          <p className={css.hint}>{REMOVAL_TEXTS}</p>
        </>
      )}
    </section>
  );
}

/** What the repository's own settings would enable. */
export const RepositorySettings = ({ projectId }: { projectId: ProjectId }) => (
  <section className={css.dialogPart} aria-labelledby="rules-repository">
    <h3 id="rules-repository">From the repository’s settings</h3>
    <TrustPanel place={{ projectId }} />
  </section>
);

interface RuleRowsProps {
  rules: readonly UsedRule[];
  /** Names the project of each rule, where several are listed. */
  namesProject?: boolean;
}

/** Rules that apply, each with its use and the button that removes it. */
export function RuleRows({ rules, namesProject = false }: RuleRowsProps) {
  return (
    <ul className={css.rules}>
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
    <li>
      <div>
        <RuleText rule={rule} />
        <div className={css.hint}>
          {namesProject && <ProjectName name={project} />}
          {rule.stageId === null ? 'all stages of the project' : <OneStage stageId={rule.stageId} />}
          {rule.by !== null && `, by ${rule.by}`}, <TimeSince at={rule.createdAt} ago />
          {rule.expiresAt !== null && `, until ${exactTime(rule.expiresAt)}`}
        </div>
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
    </li>
  );
}

function RuleText({ rule }: { rule: UsedRule }) {
  return (
    <>
      {rule.kind !== 'allow' && <span className={css.hint}>{KIND_TEXTS[rule.kind]} </span>}
      <code className={css.rule}>
        <Seen text={rule.rule} kind="command" />
      </code>
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
      <div className={css.hint}>
        {rule.endedAt === null
          ? 'Claude Code does not report when it is used. If removed, it still applies in running sessions until their process ends.'
          : 'It may still hold in sessions that ran then, until their process ends.'}
      </div>
    );
  if (uses === 0 || lastUsedAt === null) return <div className={css.hint}>Not used yet</div>;
  return (
    <details className={css.hint}>
      <summary>
        Used {count(uses, 'time')}, last <TimeSince at={lastUsedAt} ago />
      </summary>
      <ul className={css.uses} aria-label="What for">
        {usedFor.map((one) => (
          <li key={one.asked}>
            {visibleText(one.asked, 'command')}: {count(one.count, 'time')}
          </li>
        ))}
      </ul>
      <ul className={css.uses} aria-label="Last uses">
        {lastUses.map((one) => (
          <li key={`${one.stageId}/${one.entry}/${one.at}`}>
            <TimeSince at={one.at} ago />, <UsedIn {...one} />
            {usedFor.length > 1 && `: ${visibleText(one.asked, 'command')}`}
          </li>
        ))}
      </ul>
    </details>
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
    <details className={css.dialogPart}>
      <summary>Ended: {rules.length}</summary>
      <ul className={css.rules}>
        {rules.map((rule) => (
          <EndedRule key={rule.ruleId} rule={rule} namesProject={namesProject} />
        ))}
      </ul>
    </details>
  );
}

function EndedRule({ rule, namesProject }: { rule: UsedRule; namesProject: boolean }) {
  const project = useProjectNameOf(rule);
  return (
    <li>
      <div>
        <RuleText rule={rule} />
        <div className={css.hint}>
          {namesProject && <ProjectName name={project} />}
          {rule.endedBy === null ? 'ended by its date' : `removed by ${rule.endedBy}`},{' '}
          <TimeSince at={rule.endedAt ?? rule.expiresAt ?? rule.createdAt} ago />
        </div>
        <Use rule={rule} />
      </div>
    </li>
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
