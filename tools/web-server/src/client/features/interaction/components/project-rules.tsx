import { type PermissionRule, type ProjectId, type UsedRule, visibleText } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { rulesQuery } from '../../../data/queries.ts';
import { count, exactTime } from '../../../lib/format.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useStageTitle } from '../api/use-request.ts';
import { useRemoveRule } from '../api/use-rules.ts';
import css from './content.module.css';
import TrustPanel from './trust-panel.tsx';

/** The kept rules of a project and its stages, and the settings that its repository brings. */
export default function ProjectRules({ projectId }: { projectId: ProjectId }) {
  const { data, error, refetch } = useQuery(rulesQuery(projectId));
  return (
    <>
      {error !== null && <ErrorNote lead="The rules could not be read." error={error} retry={() => void refetch()} />}
      {data !== undefined && (
        <>
          <KeptRules projectId={projectId} rules={data.rules} />
          <EndedRules rules={data.ended} />
        </>
      )}
      <section className={css.dialogPart} aria-labelledby="rules-repository">
        <h3 id="rules-repository">From the repository’s settings</h3>
        <TrustPanel place={{ projectId }} />
      </section>
    </>
  );
}

function KeptRules({ projectId, rules }: { projectId: ProjectId; rules: readonly UsedRule[] }) {
  return (
    <section className={css.dialogPart} aria-labelledby="rules-kept">
      <h3 id="rules-kept">Always allowed</h3>
      {rules.length === 0 ? (
        <p className={css.hint}>No rules yet. “Always allow …” on a request adds one.</p>
      ) : (
        <>
          <ul className={css.rules}>
            {rules.map((rule) => (
              <KeptRule key={rule.ruleId} projectId={projectId} rule={rule} />
            ))}
          </ul>
          <p className={css.hint}>
            Every session starts with these. Once you remove a rule, running sessions ask again; a folder or a host
            still holds in them until their process ends.
          </p>
        </>
      )}
    </section>
  );
}

const KIND_WORDS = { directory: 'Folder', host: 'Network' } as const;

function KeptRule({ projectId, rule }: { projectId: ProjectId; rule: UsedRule }) {
  const remove = useRemoveRule(projectId);
  const canCommand = useCanCommand();
  return (
    <li>
      <div>
        {rule.kind !== 'allow' && <span className={css.hint}>{KIND_WORDS[rule.kind]} </span>}
        <code className={css.rule}>
          <Seen text={rule.rule} kind="command" />
        </code>
        <div className={css.hint}>
          {rule.stageId === null ? 'all stages of the project' : <OneStage stageId={rule.stageId} />}
          {rule.by !== null && `, by ${rule.by}`}, <TimeSince at={rule.createdAt} ago />
          {rule.expiresAt !== null && `, until ${exactTime(rule.expiresAt)}`}
        </div>
        <Use rule={rule} />
      </div>
      <Button
        variant="default"
        size="compact-md"
        aria-label={`Remove ${visibleText(rule.rule, 'command')}`}
        disabled={!canCommand}
        loading={remove.isPending}
        onClick={() => remove.mutate(rule)}
      >
        Remove
      </Button>
    </li>
  );
}

/** How often a rule was used, and what for. */
function Use({ rule }: { rule: UsedRule }) {
  const { uses, lastUsedAt, usedFor } = rule;
  if (uses === null) return null;
  if (uses === 0 || lastUsedAt === null) return <div className={css.hint}>Not used yet</div>;
  return (
    <details className={css.hint}>
      <summary>
        Used {count(uses, 'time')}, last <TimeSince at={lastUsedAt} ago />
      </summary>
      <ul>
        {usedFor.map((one) => (
          <li key={one.asked}>
            {visibleText(one.asked, 'command')}: {count(one.count, 'time')}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Rules that were removed, or whose end date has come. */
function EndedRules({ rules }: { rules: readonly UsedRule[] }) {
  if (rules.length === 0) return null;
  return (
    <details className={css.dialogPart}>
      <summary>Ended: {rules.length}</summary>
      <ul className={css.rules}>
        {rules.map((rule) => (
          <li key={rule.ruleId}>
            <div>
              <code className={css.rule}>
                <Seen text={rule.rule} kind="command" />
              </code>
              <div className={css.hint}>
                {rule.endedBy === null ? 'ended by its date' : `removed by ${rule.endedBy}`},{' '}
                <TimeSince at={rule.endedAt ?? rule.expiresAt ?? rule.createdAt} ago />
              </div>
              <Use rule={rule} />
            </div>
          </li>
        ))}
      </ul>
    </details>
  );
}

function OneStage({ stageId }: { stageId: NonNullable<PermissionRule['stageId']> }) {
  return <>stage “{useStageTitle(stageId)}”</>;
}
