import { lazy, Suspense } from 'react';
import { Dialog } from '../../../ui/dialog.tsx';
import { useRulesDialog } from '../model/rules-dialog.ts';

const RulesOf = lazy(() => import('./rules-of.tsx'));

/** What was allowed for good in a project, to be looked at and taken back. Stands once in the page. */
export function RulesDialog() {
  const { projectId, close } = useRulesDialog();
  return (
    <Dialog opened={projectId !== null} close={close} title="Rules" size={640} closeOnClickOutside>
      {projectId !== null && (
        <Suspense fallback={null}>
          <RulesOf key={projectId} projectId={projectId} />
        </Suspense>
      )}
    </Dialog>
  );
}
