import { type BuildFolders, isActive, isChecking, type Removal, type StageView } from '@callboard/contract';
import { Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useLocation, useNavigate } from 'react-router';
import { deleteDialog } from '../../data/dialogs.ts';
import { boardQuery, stageOf } from '../../data/queries.ts';
import { useDeleteStage } from '../../data/stage-commands.ts';
import { client } from '../../lib/api-client.ts';
import { count, formatSize } from '../../lib/format.ts';
import { removalText } from '../../lib/removal-text.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { BuildFoldersChoice, SavedFiles } from '../../ui/saved-files.tsx';

/** Asks whether the stage that somebody is about to delete is to be deleted. */
export default function DeleteDialog() {
  const stageId = deleteDialog.useSubject();
  const { data: stage } = useQuery({
    ...boardQuery,
    select: (view) => (stageId === null ? undefined : stageOf(stageId)(view)),
  });
  const isGone = stageId !== null && stage === undefined;
  useEffect(() => {
    if (isGone) deleteDialog.close();
  }, [isGone]);
  useEffect(() => deleteDialog.close, []);
  // Stays while the dialog closes, so that the focus goes back to where it was.
  const [last, setLast] = useState(stage);
  if (stage !== undefined && stage !== last) setLast(stage);
  return last === undefined ? null : <Asked key={last.id} stage={last} opened={stage !== undefined} />;
}

function Asked({ stage, opened }: { stage: StageView; opened: boolean }) {
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const remove = useDeleteStage(stage.title, () => {
    deleteDialog.close();
    if (pathname === `/stages/${stage.id}`) void navigate('/');
  });
  return (
    <ConfirmDelete
      stage={stage}
      opened={opened}
      busy={remove.isPending}
      confirm={(order) => remove.mutate({ stageId: stage.id, ...order })}
      close={deleteDialog.close}
    />
  );
}

/** What must end before a stage is deleted; null if nothing runs. A conversation in a terminal is not ours to end. */
function runningOf({ session }: StageView): { text: string; verb: string | null } | null {
  if (session === null) return null;
  if (session.terminal !== null)
    return {
      text: 'Its conversation goes on in a terminal. Take it back or end it there, then delete it.',
      verb: null,
    };
  if (isChecking(session)) return { text: 'A check is running. It is stopped first.', verb: 'Stop and delete' };
  if (isActive(session.state))
    return { text: 'Claude is working on it and is stopped first.', verb: 'Stop and delete' };
  return session.state === 'idle' ? { text: 'Its Claude session is ended.', verb: 'Delete' } : null;
}

interface ConfirmDeleteProps {
  stage: StageView;
  opened: boolean;
  busy: boolean;
  confirm: (order: { buildFolders: BuildFolders; endSession?: true }) => void;
  close: () => void;
}

/** Asks before deleting a stage, and says what is ended, deleted, kept and restorable. */
function ConfirmDelete({ stage, opened, busy, confirm, close }: ConfirmDeleteProps) {
  const { id: stageId, title } = stage;
  const [choice, setChoice] = useState<BuildFolders>('delete');
  const running = runningOf(stage);
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
      <Stack gap="md">
        {running !== null && <p>{running.text}</p>}
        <p>The card, its transcript and its queue are deleted. Its decisions stay in the decision log.</p>
        {plan.isLoading && <Text c="dimmed">Checking its worktree...</Text>}
        {plan.error !== null && (
          <ErrorNote lead="Its worktree could not be checked." error={plan.error} retry={() => void plan.refetch()} />
        )}
        {plan.data !== undefined && <Plan removal={plan.data} choice={choice} setChoice={setChoice} />}
      </Stack>
      <Group justify="flex-end" gap="sm" mt="lg">
        <Button variant="default" onClick={close} data-autofocus>
          Cancel
        </Button>
        <Button
          color="red"
          onClick={() =>
            confirm({ buildFolders: plan.isSuccess ? choice : 'keep', ...(running !== null && { endSession: true }) })
          }
          loading={busy}
          disabled={plan.isLoading || running?.verb === null}
        >
          {running?.verb ?? 'Delete'}
        </Button>
      </Group>
    </Dialog>
  );
}

interface PlanProps {
  removal: Removal;
  choice: BuildFolders;
  setChoice: (choice: BuildFolders) => void;
}

function Plan({ removal, choice, setChoice }: PlanProps) {
  const { files, fileCount, bytes, buildFolders } = removal;
  const text = removalText(removal);
  return (
    <>
      {text.length > 0 && <p>{text.join(' ')}</p>}
      {fileCount > 0 && (
        <div>
          <p>
            {count(fileCount, 'file')} that git ignores {fileCount === 1 ? 'goes' : 'go'} to the trash for 30 days (
            {formatSize(bytes)}):
          </p>
          <SavedFiles files={files} more={fileCount - files.length} label="Moved to the trash" />
        </div>
      )}
      <BuildFoldersChoice folders={buildFolders} choice={choice} setChoice={setChoice} />
    </>
  );
}
