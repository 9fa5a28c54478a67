import type { StageDiff, StageView } from '@callboard/contract';
import { Button, Group, Loader } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { errorText } from '../../../lib/api-client.ts';
import { count } from '../../../lib/format.ts';
import { Dialog } from '../../../ui/dialog.tsx';
import { FailureNote } from '../../../ui/note.tsx';
import { stageDiffQuery } from '../api/stage-diff.ts';

interface MergeConfirmProps {
  stage: StageView;
  opened: boolean;
  busy: boolean;
  confirm: (seen: StageDiff) => void;
  close: () => void;
}

/** Asks for confirmation of a merge, and says what is merged: the changes as last shown, or as they are now. */
export function MergeConfirm({ stage, opened, busy, confirm, close }: MergeConfirmProps) {
  const { data, error } = useQuery({
    ...stageDiffQuery(stage.id),
    enabled: opened,
    staleTime: Number.POSITIVE_INFINITY,
  });
  // Changes that are reloaded while this is open have not been seen.
  const [seen, setSeen] = useState(data);
  if (seen === undefined && data !== undefined) setSeen(data);
  return (
    <Dialog opened={opened} close={close} title={`Complete ${stage.title} and merge it`} size={440} closeOnClickOutside>
      {seen === undefined && error !== null && (
        <FailureNote>The changes could not be read. {errorText(error)}</FailureNote>
      )}
      {seen === undefined && error === null && <Loader size="sm" color="gray" aria-label="Reading the changes" />}
      {seen !== undefined && <p>{words(seen)}</p>}
      <Group justify="flex-end" gap="sm" mt="lg">
        <Button variant="default" onClick={close} data-autofocus>
          Cancel
        </Button>
        <Button onClick={() => seen !== undefined && confirm(seen)} loading={busy} disabled={seen === undefined}>
          Complete and merge
        </Button>
      </Group>
    </Dialog>
  );
}

function words({ branch, head, files }: StageDiff): string {
  const added = files.reduce((sum, file) => sum + file.additions, 0);
  const removed = files.reduce((sum, file) => sum + file.deletions, 0);
  const what = `${head.slice(0, 7)}, ${count(files.length, 'file')}, +${added} −${removed}`;
  return `Merges ${branch} (${what}) into the branch that the main checkout is on. Nothing changes if it conflicts, or if it is not what you were shown any more.`;
}
