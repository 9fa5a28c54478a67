import type { ProjectId, StageView } from '@callboard/contract';
import { Button, Checkbox } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Link } from 'react-router';
import { boardQuery } from '../../../data/queries.ts';
import { isUncertain } from '../../../lib/api-client.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { DropZone } from '../../../ui/attached-files.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { KeyHint } from '../../../ui/key-hint.tsx';
import { useFormDraft } from '../api/use-form-draft.ts';
import { useFormFiles } from '../api/use-form-files.ts';
import { useSendNewStage } from '../api/use-send-stage.ts';
import { useBoardUi } from '../model/board-ui.ts';
import { emptyStageForm, type FieldErrors, nextStageForm, readStageForm } from '../model/stage-form.ts';
import { FormEnd } from './form-end.tsx';
import css from './forms.module.css';
import { FormDraftNote, StageFields } from './stage-fields.tsx';

/** A new stage: a prompt, and what has defaults. It starts at once, or is put on the board. */
export function NewStageForm({ wantedProject }: { wantedProject: ProjectId | null }) {
  const { data: projects = [] } = useQuery({ ...boardQuery, select: (view) => view.projects });
  const known = projects.find((project) => project.id === wantedProject) ?? projects[0];
  const closeForm = useBoardUi((ui) => ui.closeForm);
  const open = useBoardUi((ui) => ui.open);
  const draft = useFormDraft('new', () => emptyStageForm(known));
  const { form, set, isRestored } = draft;
  const files = useFormFiles('new');
  const [errors, setErrors] = useState<FieldErrors>({});
  const [another, setAnother] = useState(false);
  const [made, setMade] = useState<StageView | null>(null);
  const creation = useSendNewStage({ draft, files });
  const canCommand = useCanCommand();
  const waits = useWaits(form.dependsOn);

  const startOver = () => {
    draft.discard();
    files.discard();
  };
  const submit = async (startsNow: boolean) => {
    if (!canCommand || creation.isPending || !files.areRead || (startsNow && waits)) return;
    const read = readStageForm(form);
    setErrors('errors' in read ? read.errors : {});
    if ('errors' in read) return;
    const sent = await creation.send(read.stage, startsNow);
    if (sent === null || useBoardUi.getState().form?.kind !== 'new-stage') return;
    if (!another && !sent.hasMore) return closeForm();
    setMade(sent.made);
    if (sent.hasMore) return;
    draft.restart(nextStageForm(form));
    document.querySelector<HTMLElement>('[data-prompt]')?.focus();
  };
  const add = (event: FormEvent) => {
    event.preventDefault();
    void submit(false);
  };
  return (
    <DropZone add={files.add}>
      <form className={css.form} onSubmit={add} noValidate>
        {(isRestored || files.isRestored) && made === null && <FormDraftNote discard={startOver} />}
        {made !== null && (
          <p className={css.about} role="status">
            Created <Link to={`/stages/${made.id}`}>{made.title}</Link> ({made.id}).
          </p>
        )}
        <StageFields
          form={form}
          set={set}
          errors={errors}
          files={files}
          stageId={null}
          startedPhases={null}
          submit={() => void submit(true)}
        />
        <p className={css.about}>
          <Button
            variant="subtle"
            size="compact-sm"
            onClick={() => open({ kind: 'conversations', projectId: known?.id ?? null })}
          >
            Continue a conversation...
          </Button>
        </p>
        {creation.error !== null && <CreationFailure error={creation.error} />}
        <FormEnd>
          <Checkbox
            className={css.first}
            label="Create another"
            checked={another}
            onChange={(event) => setAnother(event.currentTarget.checked)}
          />
          <Button type="submit" variant="default" disabled={!canCommand} loading={creation.isPending}>
            Add to board
          </Button>
          <Button
            disabled={!canCommand || waits}
            loading={creation.isPending}
            title={waits ? 'It waits for what it depends on' : undefined}
            aria-keyshortcuts="Control+Enter"
            rightSection={<KeyHint isOff={waits}>Ctrl ↵</KeyHint>}
            onClick={() => void submit(true)}
          >
            Start
          </Button>
        </FormEnd>
      </form>
    </DropZone>
  );
}

function CreationFailure({ error }: { error: Error }) {
  if (!isUncertain(error)) return <ErrorNote lead="The stage was not created." error={error} />;
  const lead = 'The stage may have been created. Sending it again creates no second one.';
  return <ErrorNote lead={lead} saysBoth error={error} />;
}

/** Whether a stage that depends on these cannot start yet. */
function useWaits(dependsOn: readonly string[]): boolean {
  const { data: open = [] } = useQuery({
    ...boardQuery,
    select: ({ stages }) => stages.filter(({ completedAt }) => completedAt === null).map(({ id }) => String(id)),
  });
  return dependsOn.some((id) => open.includes(id));
}
