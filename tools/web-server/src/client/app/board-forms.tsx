import type { BoardView, ProjectId } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type BoardForm, useBoardUi } from '../data/board-ui.ts';
import { boardQuery } from '../data/queries.ts';
import { discardForm, leaveForm, useUnsavedForms } from '../data/unsaved-forms.ts';
import { ConversationsForm, IssuesForm } from '../features/import/import-forms.tsx';
import { AddProjectForm } from '../features/projects/add-project-form.tsx';
import { ProjectForms } from '../features/projects/project-forms.tsx';
import { EditStageForm, NewStageForm } from '../features/stages/stage-forms.tsx';
import { Confirm, Dialog } from '../ui/dialog.tsx';
import { ErrorBoundary, lazyComponent } from '../ui/error-boundary.tsx';

const ProjectRules = lazyComponent(() => import('../features/rules/project-rules.tsx'));

const Rules = ({ projectId }: { projectId: ProjectId }) => (
  <ErrorBoundary name="The rules">
    <ProjectRules projectId={projectId} />
  </ErrorBoundary>
);

/** The form that is open over the board. */
export default function BoardForms() {
  const form = useBoardUi((ui) => ui.form);
  const { asked, ask } = useUnsavedForms();
  // The form stays in the dialog while it fades out.
  const [shown, setShown] = useState<BoardForm | null>(form);
  if (form !== null && form !== shown) setShown(form);
  const { data: title = '' } = useQuery({ ...boardQuery, select: (view) => titleOf(view, shown) });
  return (
    <>
      <Dialog
        opened={form !== null}
        close={() => leaveForm()}
        title={title}
        size={shown?.kind === 'add-project' ? 480 : shown?.kind === 'project' ? 860 : 720}
      >
        {shown !== null && <Form form={shown} />}
      </Dialog>
      <Confirm
        opened={asked !== null && form !== null}
        title="Discard what you changed?"
        text="What you changed in this form is not saved."
        verb="Discard"
        busy={false}
        confirm={() => discardForm(asked?.next ?? null)}
        close={() => ask(null)}
      />
    </>
  );
}

function titleOf({ stages, projects }: BoardView, form: BoardForm | null): string {
  switch (form?.kind) {
    case undefined:
    case 'new-stage':
      return 'New stage';
    case 'issues':
      return 'Import issues';
    case 'conversations':
      return 'Continue a conversation';
    case 'edit-stage':
      return `Edit ${stages.find((stage) => stage.id === form.stageId)?.title ?? form.stageId}`;
    case 'add-project':
      return 'Add project';
    case 'project':
      return `Project ${projects.find((project) => project.id === form.projectId)?.name ?? form.projectId}`;
  }
}

function Form({ form }: { form: BoardForm }) {
  switch (form.kind) {
    case 'new-stage':
      return <NewStageForm wantedProject={form.projectId} />;
    case 'issues':
      return <IssuesForm wantedProject={form.projectId} />;
    case 'conversations':
      return <ConversationsForm wantedProject={form.projectId} />;
    case 'edit-stage':
      return <EditStageForm stageId={form.stageId} />;
    case 'add-project':
      return <AddProjectForm thenNewStage={form.thenNewStage} />;
    case 'project':
      return <ProjectForms projectId={form.projectId} section={form.section} RulesSlot={Rules} />;
  }
}
