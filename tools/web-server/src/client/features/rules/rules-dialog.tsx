import type { ProjectId } from '@callboard/contract';
import { Anchor, NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { rulesDialog } from '../../data/dialogs.ts';
import { boardQuery } from '../../data/queries.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorBoundary, lazyComponent } from '../../ui/error-boundary.tsx';

const RuleOfferPanel = lazyComponent(async () => ({
  default: (await import('./rule-offer.tsx')).RuleOfferPanel,
}));
const ProjectRules = lazyComponent(() => import('./project-rules.tsx'));

/** Shows the kept rules of a project, which a person can remove. Rendered once per page. */
export function RulesDialog() {
  const { projectId = null, offer } = rulesDialog.useSubject() ?? {};
  const { close } = rulesDialog;
  return (
    <Dialog opened={projectId !== null} close={close} title="Rules" size={640} closeOnClickOutside>
      {projectId !== null && (
        <ErrorBoundary name="The rules">
          {offer === undefined ? (
            <ProjectChoice projectId={projectId} />
          ) : (
            <RuleOfferPanel offer={offer} close={() => rulesDialog.open({ projectId })} />
          )}
          <ProjectRules key={projectId} projectId={projectId} />
          <Anchor component={Link} to="/rules" onClick={close} display="block" mt="lg" size="sm">
            Rules of all projects
          </Anchor>
        </ErrorBoundary>
      )}
    </Dialog>
  );
}

function ProjectChoice({ projectId }: { projectId: ProjectId }) {
  const { data: projects = [] } = useQuery({ ...boardQuery, select: (view) => view.projects });
  const choose = (id: string) => {
    const project = projects.find((other) => other.id === id);
    if (project !== undefined) rulesDialog.open({ projectId: project.id });
  };
  return (
    <NativeSelect
      label="Project"
      mb="lg"
      data={projects.map(({ id, name }) => ({ value: id, label: name }))}
      value={projectId}
      onChange={(event) => choose(event.currentTarget.value)}
    />
  );
}
