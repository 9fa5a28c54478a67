import type { StageView } from '@callboard/contract';
import { Button, Group, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useNavigate } from 'react-router';
import { closeMomentDialog, type MomentAction } from '../../../data/moment-dialog.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { useForkStage } from '../api/going-back.ts';
import css from './moment-dialog.module.css';

interface ForkFormProps {
  action: MomentAction;
  stage: StageView;
}

/** Says what a fork has and what stays, and makes it. */
export function ForkForm({ action, stage }: ForkFormProps) {
  const { message } = action;
  const [title, setTitle] = useState(`${stage.title} (fork)`);
  const navigate = useNavigate();
  const canCommand = useCanCommand();
  const fork = useForkStage(stage.id, (made) => {
    closeMomentDialog();
    void navigate(`/stages/${made}`);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (title.trim() !== '' && canCommand && !fork.isPending)
      fork.mutate({ messageId: message.id, title: title.trim() });
  };
  return (
    <form className={css.body} onSubmit={submit}>
      <div className={css.message}>{message.text}</div>
      <p>
        Makes a new stage on a branch of its own, with the conversation and the files from before this message. The
        message becomes its prompt, which you can edit before you start it.
      </p>
      <TextInput
        label="Title"
        value={title}
        maxLength={300}
        data-autofocus
        onChange={(event) => setTitle(event.currentTarget.value)}
      />
      <p className={css.quiet}>
        {stage.title} stays as it is. Ignored files, nested repositories and files over 50 MB are not copied.
      </p>
      {fork.error !== null && <ErrorNote lead="The stage was not forked." error={fork.error} stageId={stage.id} />}
      <Group justify="flex-end" gap="sm">
        <Button variant="default" onClick={closeMomentDialog}>
          Cancel
        </Button>
        <Button type="submit" loading={fork.isPending} disabled={!canCommand || title.trim() === ''}>
          Fork
        </Button>
      </Group>
    </form>
  );
}
