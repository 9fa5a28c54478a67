import type { BuildFolders, KeptFile, Removal, StageId } from '@callboard/contract';
import { Button, Checkbox, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../lib/api-client.ts';
import { count, sizeWords } from '../lib/format.ts';
import { removalWords, sizeOf } from '../lib/removal-words.ts';
import css from './confirm-delete.module.css';
import { Dialog } from './dialog.tsx';
import { ErrorNote } from './error-note.tsx';

interface ConfirmDeleteProps {
  stageId: StageId;
  opened: boolean;
  /** The stage's title. */
  title: string;
  busy: boolean;
  confirm: (buildFolders: BuildFolders) => void;
  close: () => void;
}

/** Asks before deleting a stage, and says what is deleted, kept and restorable. */
export function ConfirmDelete({ stageId, opened, title, busy, confirm, close }: ConfirmDeleteProps) {
  const [deletesBuilds, setDeletesBuilds] = useState(true);
  const plan = useQuery({
    queryKey: ['removal', stageId],
    enabled: opened,
    staleTime: 0,
    gcTime: 0,
    retry: false,
    queryFn: async ({ signal }) => (await client.command('get_removal', { stageId }, { signal })).removal,
  });
  return (
    <Dialog opened={opened} close={close} title={`Delete ${title}`} size={520} closeOnClickOutside>
      <div className={css.body}>
        <p>The card, its transcript and its queue are deleted. Its decisions stay in the decision log.</p>
        {plan.isLoading && <p className={css.quiet}>Checking its worktree...</p>}
        {plan.error !== null && (
          <ErrorNote lead="Its worktree could not be checked." error={plan.error} retry={() => void plan.refetch()} />
        )}
        {plan.data !== undefined && (
          <Plan removal={plan.data} deletesBuilds={deletesBuilds} setDeletesBuilds={setDeletesBuilds} />
        )}
      </div>
      <Group justify="flex-end" gap="sm" mt="lg">
        <Button variant="default" onClick={close} data-autofocus>
          Cancel
        </Button>
        <Button
          onClick={() => confirm(deletesBuilds && plan.isSuccess ? 'delete' : 'keep')}
          loading={busy}
          disabled={plan.isLoading}
        >
          Delete
        </Button>
      </Group>
    </Dialog>
  );
}

interface PlanProps {
  removal: Removal;
  deletesBuilds: boolean;
  setDeletesBuilds: (yes: boolean) => void;
}

function Plan({ removal, deletesBuilds, setDeletesBuilds }: PlanProps) {
  const { files, fileCount, bytes, buildFolders } = removal;
  const words = removalWords(removal);
  return (
    <>
      {words.length > 0 && <p>{words.join(' ')}</p>}
      {fileCount > 0 && (
        <div>
          <p>
            {count(fileCount, 'file')} that git ignores {fileCount === 1 ? 'goes' : 'go'} to the trash for 30 days (
            {sizeWords(bytes)}):
          </p>
          <Files files={files} more={fileCount - files.length} label="Moved to the trash" />
        </div>
      )}
      {buildFolders.length > 0 && (
        <div>
          <Checkbox
            label={`Delete dependencies and build results for good (${sizeWords(sizeOf(buildFolders))})`}
            description={deletesBuilds ? undefined : 'They go to the trash with the rest.'}
            checked={deletesBuilds}
            onChange={(event) => setDeletesBuilds(event.currentTarget.checked)}
          />
          <Files files={buildFolders} more={0} label="Dependencies and build results" />
        </div>
      )}
    </>
  );
}

function Files({ files, more, label }: { files: readonly KeptFile[]; more: number; label: string }) {
  return (
    <ul className={css.files} aria-label={label}>
      {files.map(({ path, bytes }) => (
        <li key={path}>
          <code>{path}</code>
          <span className={css.size}>{sizeWords(bytes)}</span>
        </li>
      ))}
      {more > 0 && <li className={css.size}>and {more} more</li>}
    </ul>
  );
}
