import { useQuery } from '@tanstack/react-query';
import { onDemand } from '../../../lib/on-demand.ts';
import { boardQuery } from '../../../live/queries.ts';
import { useTrustDialog } from '../../../live/trust.ts';
import { Dialog } from '../../../ui/dialog.tsx';
import { Part } from '../../../ui/part.tsx';

const TrustPanel = onDemand(() => import('./trust-panel.tsx'));

/** Asks whether a repository is to be trusted, with all that this would switch on. Stands once in the page. */
export function TrustDialog() {
  const { place, close } = useTrustDialog();
  const { data: name } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find(({ id }) => id === place?.projectId)?.name,
  });
  return (
    <Dialog opened={place !== null} close={close} title={`Trust ${name ?? 'this repository'}?`} size={640}>
      {place !== null && (
        <Part name="The settings">
          <TrustPanel place={place} done={close} />
        </Part>
      )}
    </Dialog>
  );
}
