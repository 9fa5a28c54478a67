import { useQuery } from '@tanstack/react-query';
import { trustDialog } from '../../data/dialogs.ts';
import { boardQuery } from '../../data/queries.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorBoundary, lazyComponent } from '../../ui/error-boundary.tsx';

const TrustPanel = lazyComponent(() => import('./trust-panel.tsx'));

/** Asks whether to trust a repository, and lists everything that this would enable. Rendered once per page. */
export function TrustDialog() {
  const place = trustDialog.useSubject();
  const { data: name } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find(({ id }) => id === place?.projectId)?.name,
  });
  return (
    <Dialog opened={place !== null} close={trustDialog.close} title={`Trust ${name ?? 'this repository'}?`} size={640}>
      {place !== null && (
        <ErrorBoundary name="The settings">
          <TrustPanel place={place} done={trustDialog.close} />
        </ErrorBoundary>
      )}
    </Dialog>
  );
}
