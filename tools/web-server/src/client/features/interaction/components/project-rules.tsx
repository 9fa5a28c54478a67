import { type PermissionRule, type ProjectId, visibleText } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { rulesQuery } from '../../../data/queries.ts';
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
      {data !== undefined && <KeptRules projectId={projectId} rules={data.rules} />}
      <section className={css.dialogPart} aria-labelledby="rules-repository">
        <h3 id="rules-repository">From the repository’s settings</h3>
        <TrustPanel place={{ projectId }} />
      </section>
    </>
  );
}

function KeptRules({ projectId, rules }: { projectId: ProjectId; rules: readonly PermissionRule[] }) {
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

function KeptRule({ projectId, rule }: { projectId: ProjectId; rule: PermissionRule }) {
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
        </div>
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

function OneStage({ stageId }: { stageId: NonNullable<PermissionRule['stageId']> }) {
  return <>stage “{useStageTitle(stageId)}”</>;
}
