import type { ProjectId, UsedRule } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { rulesQuery } from '../../../data/queries.ts';
import { ErrorNote } from '../../../ui/error-note.tsx';
import css from './content.module.css';
import { EndedRules, REMOVAL_TEXTS, RuleRows } from './rule-rows.tsx';
import TrustPanel from './trust-panel.tsx';

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
