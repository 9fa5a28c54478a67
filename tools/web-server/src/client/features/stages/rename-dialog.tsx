import type { StageView } from '@callboard/contract';
import { Button, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useEditStage } from '../../data/board-commands.ts';
import { renameDialog } from '../../data/dialogs.ts';
import { boardQuery, stageOf } from '../../data/queries.ts';
import { failureLead } from '../../lib/api-client.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { FormEnd } from '../../ui/form-end.tsx';
import { ErrorNote } from '../../ui/notes.tsx';

/** Gives a stage another title. */
export default function RenameDialog() {
  const isOpen = renameDialog.useIsOpen();
  const stageId = renameDialog.useLastSubject();
  const { data: stage } = useQuery({
    ...boardQuery,
    select: (view) => (stageId === null ? undefined : stageOf(stageId)(view)),
  });
  return (
    <Dialog opened={isOpen && stage !== undefined} close={renameDialog.close} title="Rename" size={480}>
      {stage !== undefined && <RenameForm stage={stage} />}
    </Dialog>
  );
}

function RenameForm({ stage: { id, title: before } }: { stage: StageView }) {
  const [title, setTitle] = useState(before);
  const edit = useEditStage();
  const canCommand = useCanCommand();
  const isEmpty = title.trim() === '';
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isEmpty || !canCommand) return;
    edit.mutate({ stageId: id, patch: { title: title.trim() } }, { onSuccess: renameDialog.close });
  };
  return (
    <Stack component="form" gap="lg" onSubmit={submit}>
      <TextInput
        label="Title"
        value={title}
        error={isEmpty ? 'The title is empty.' : null}
        data-autofocus
        onFocus={(event) => event.currentTarget.select()}
        onChange={(event) => setTitle(event.currentTarget.value)}
      />
      {edit.error !== null && <ErrorNote lead={failureLead(edit.error)} saysBoth error={edit.error} stageId={id} />}
      <FormEnd>
        <Button variant="default" onClick={renameDialog.close}>
          Cancel
        </Button>
        <Button type="submit" disabled={isEmpty || !canCommand} loading={edit.isPending}>
          Rename
        </Button>
      </FormEnd>
    </Stack>
  );
}
