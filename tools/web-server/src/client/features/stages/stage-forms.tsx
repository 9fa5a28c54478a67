import {
  type NewStage,
  type ProjectId,
  type StageId,
  type StagePatch,
  type StageView,
  titleProposal,
} from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { Button, Checkbox, Flex, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { Link } from 'react-router';
import { v5 as idOf, v4 as newId } from 'uuid';
import { z } from 'zod';
import { useCreateStage, useEditStage, useStartNew } from '../../data/board-commands.ts';
import { useBoardUi } from '../../data/board-ui.ts';
import { boardQuery, stageOf } from '../../data/queries.ts';
import { showFailure } from '../../data/use-command.tsx';
import { failureLead, isUncertain } from '../../lib/api-client.ts';
import { readStored, removeStored, writeStored } from '../../lib/browser-storage.ts';
import { mayBeCommand } from '../../lib/completion.ts';
import {
  changedSince,
  emptyStageForm,
  type FieldErrors,
  nextStageForm,
  readStageForm,
  readStagePatch,
  StageForm,
  type StageFormControl,
  stageFormOf,
} from '../../lib/stage-form.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { DropZone } from '../../ui/attached-files.tsx';
import { MAIN_BUTTON } from '../../ui/dialog.tsx';
import { FormEnd } from '../../ui/form-end.tsx';
import css from '../../ui/forms.module.css';
import { ErrorNote, Note } from '../../ui/notes.tsx';
import { PhasesEditor } from '../../ui/phases-editor.tsx';
import { Hint } from '../../ui/primitives.tsx';
import { KeyHint } from '../../ui/shortcuts.tsx';
import { type FormFiles, useFormFiles } from './form-files.ts';
import { PromptBox } from './prompt-box.tsx';
import { FinishNote, StageChips } from './stage-chips.tsx';

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
      <Flex component="form" direction="column" gap="lg" onSubmit={add} noValidate>
        {(isRestored || files.isRestored) && made === null && <FormDraftNote discard={startOver} />}
        {made !== null && (
          <Hint role="status">
            Created <Link to={`/stages/${made.id}`}>{made.title}</Link> ({made.id}).
          </Hint>
        )}
        <StageFields form={form} set={set} errors={errors} files={files} stageId={null} startedPhases={null} />
        <Hint>
          <Button
            variant="subtle"
            size="compact-sm"
            onClick={() => open({ kind: 'conversations', projectId: known?.id ?? null })}
          >
            Continue a conversation...
          </Button>
        </Hint>
        {creation.error !== null && <CreationFailure error={creation.error} />}
        <FormEnd>
          <Checkbox
            mr="auto"
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
            aria-keyshortcuts="Control+Enter Meta+Enter"
            {...MAIN_BUTTON}
            rightSection={<KeyHint isOff={waits}>Ctrl ↵</KeyHint>}
            onClick={() => void submit(true)}
          >
            Start
          </Button>
        </FormEnd>
      </Flex>
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

const StoredDraft = StageForm.partial().extend({ draftId: z.uuid().optional() });

type StoredDraft = z.infer<typeof StoredDraft>;

/** Chips of a new stage without a word of text are no draft. */
function withText(draft: StoredDraft, id: string): StoredDraft {
  const { title = '', prompt = '', phases = [] } = draft;
  return id !== 'new' || title + prompt !== '' || phases.length > 0 ? draft : {};
}

export type FormDraft = ReturnType<typeof useFormDraft>;

/**
 * The stage form with its unsent draft. This browser keeps the draft until it is sent or discarded, so that Escape, a
 * reload or a crash loses nothing.
 *
 * @param id what the form is for, unique among all such forms
 * @param begin returns the unchanged form; called once
 */
export function useFormDraft(id: string, begin: () => StageForm) {
  const key = `callboard-stage-form:${id}`;
  const [initial] = useState(begin);
  const [stored, setStored] = useState(() => withText(readStored(key, StoredDraft, {}), id));
  const [isRestored, setIsRestored] = useState(() => Object.keys(stored).length > 0);
  const [firstId] = useState(() => newId());
  const { draftId = firstId, ...draft } = stored;
  function save(next: StoredDraft): void {
    setStored(next);
    writeStored(key, next);
  }
  function discard(): void {
    setStored({ draftId: newId() });
    setIsRestored(false);
    removeStored(key);
  }
  return {
    form: { ...initial, ...draft },
    /** Other drafts of the same form have others. */
    draftId,
    /** Whether the form opened with an unsent draft. */
    isRestored,
    set: (change: Partial<StageForm>) => save({ ...draft, draftId, ...change }),
    discard,
    /** Begins another draft with these fields. */
    restart: (form: StageForm) => save({ ...form, draftId: newId() }),
    /** Returns how to discard what is sent now, once it has arrived. That returns false, and keeps all, if it was changed since. */
    sending(): () => boolean {
      const saved = () => JSON.stringify(readStored(key, StoredDraft, {}));
      const sent = saved();
      return () => {
        const isSame = saved() === sent;
        if (isSame) discard();
        return isSame;
      };
    },
  };
}

interface StageDraft {
  draft: FormDraft;
  files: FormFiles;
}

/** Whether the form is still open, for what comes after an answer. */
function useIsOpen() {
  const isOpen = useRef(true);
  useEffect(() => {
    isOpen.current = true;
    return () => {
      isOpen.current = false;
    };
  }, []);
  return isOpen;
}

/** Returns how to forget what is sent now. That returns false if something was changed since, which is kept. */
function sending({ draft, files }: StageDraft): () => boolean {
  const parts = [draft.sending(), files.sending()];
  return () => parts.map((forget) => forget()).every((isSame) => isSame);
}

const outcome = (error: unknown, verb: string): string => `${isUncertain(error) ? 'may have been' : 'was not'} ${verb}`;

/**
 * Creates the stage of a form, and starts it if that is wanted, also if the form is closed before Callboard has answered.
 * The same draft sent again creates no second one: the reply may have been lost, with the page.
 */
function useSendNewStage(parts: StageDraft) {
  const create = useCreateStage();
  const start = useStartNew();
  const isOpen = useIsOpen();
  async function send(stage: NewStage, startsNow: boolean): Promise<{ made: StageView; hasMore: boolean } | null> {
    const { draft, files } = parts;
    const content = JSON.stringify([stage, files.added.map(({ fileId }) => fileId)]);
    const forget = sending(parts);
    try {
      const creationId = idOf(content, draft.draftId);
      const { stage: made } = await create.mutateAsync({ ...stage, ...files.attachments(), creationId });
      if (startsNow) start.mutate(made);
      return { made, hasMore: !forget() };
    } catch (error) {
      // An open form says it itself.
      if (!isOpen.current) showFailure({ title: `${stage.title} ${outcome(error, 'created')}`, error, saysBoth: true });
      return null;
    }
  }
  return { send, isPending: create.isPending, error: create.error };
}

/** Saves the form of a stage. `send` returns whether it was stored and nothing was changed since. */
function useSendPatch(stage: Pick<StageView, 'id' | 'title'>, parts: StageDraft) {
  const edit = useEditStage();
  const isOpen = useIsOpen();
  async function send(patch: StagePatch): Promise<boolean> {
    const forget = sending(parts);
    try {
      await edit.mutateAsync({ stageId: stage.id, patch });
      return forget();
    } catch (error) {
      const title = `${stage.title} ${outcome(error, 'changed')}`;
      if (!isOpen.current) showFailure({ title, error, stageId: stage.id, saysBoth: true });
      return false;
    }
  }
  return { send, isPending: edit.isPending, error: edit.error };
}

interface StageFieldsProps extends StageFormControl {
  /** The edited stage; null for a new one. */
  stageId: StageId | null;
  /** How many phases have begun; null for a stage that was not started, where everything can change. */
  startedPhases: number | null;
  files: FormFiles;
}

/** The fields of a stage that can still change: the prompt first, everything else as chips with the defaults. */
function StageFields({ form, set, errors, stageId, startedPhases, files }: StageFieldsProps) {
  const part = { form, set, errors };
  const isOpen = startedPhases === null;
  return (
    <>
      {isOpen && <PromptBox {...part} stageId={stageId} files={files} />}
      {isOpen && mayBeCommand(form.prompt) && (
        <Checkbox
          label="Run as a command"
          checked={form.isCommand}
          onChange={(event) => set({ isCommand: event.currentTarget.checked })}
        />
      )}
      <TitleField {...part} />
      <StageChips {...part} stageId={stageId} isOpen={isOpen} />
      <FinishNote form={form} />
      {form.phases.length > 0 && (
        <PhasesEditor
          phases={form.phases}
          change={(phases) => set({ phases })}
          error={errors.phases}
          started={startedPhases ?? 0}
          about={
            isOpen
              ? 'Steps that follow one another. Without any, the stage is its prompt alone.'
              : 'Phases that have begun stay as they are. What decides at the end of the current one can change.'
          }
        />
      )}
    </>
  );
}

/** The title: proposed from the prompt until somebody writes one. */
function TitleField({ form, set, errors }: StageFormControl) {
  const proposal = titleProposal(form.prompt);
  return (
    <TextInput
      label="Title"
      classNames={{ root: css.title }}
      placeholder={proposal === '' ? 'Taken from the prompt' : proposal}
      value={form.title}
      error={errors.title}
      onFocus={() => form.title === '' && set({ title: proposal })}
      onBlur={() => form.title === proposal && set({ title: '' })}
      onChange={(event) => set({ title: event.currentTarget.value })}
    />
  );
}

/** Says that the form holds an unsent draft, and offers to discard it. */
const FormDraftNote = ({ discard }: { discard: () => void }) => (
  <Note>
    Draft restored.{' '}
    <Button variant="subtle" size="compact-sm" onClick={discard}>
      Start over
    </Button>
  </Note>
);

/** Changes a stage, as far as it still can change. */
export function EditStageForm({ stageId }: { stageId: StageId }) {
  const { data: stage } = useQuery({ ...boardQuery, select: stageOf(stageId) });
  if (stage === undefined) return <p>This stage is not on the board any more.</p>;
  return <LoadedEditStageForm stage={stage} />;
}

function LoadedEditStageForm({ stage }: { stage: StageView }) {
  const closeForm = useBoardUi((ui) => ui.closeForm);
  const draft = useFormDraft(stage.id, () => stageFormOf(stage));
  const { form, set, isRestored } = draft;
  const files = useFormFiles(stage.id, stage.attachments);
  const [errors, setErrors] = useState<FieldErrors>({});
  /** What the form began with: other fields may have been changed elsewhere since, and are not sent. */
  const [shown, setShown] = useState(stage);
  const startOver = () => {
    draft.discard();
    files.discard();
  };
  const end = () => {
    startOver();
    closeForm();
  };
  const edit = useSendPatch(stage, { draft, files });
  /** The person read what it is now, so the next attempt may replace that. */
  const wasRefused = edit.error instanceof TransportError && edit.error.code === 'stage_changed';
  const { session } = stage;
  const submit = async () => {
    const read = readStagePatch(form, session !== null);
    setErrors('errors' in read ? read.errors : {});
    if ('errors' in read || !files.areRead) return;
    const changes = session === null ? files.changes() : {};
    const before = wasRefused ? stage : shown;
    setShown(before);
    const isDone = await edit.send({ ...changedSince(before, read.patch), ...changes });
    const open = useBoardUi.getState().form;
    if (isDone && open?.kind === 'edit-stage' && open.stageId === stage.id) closeForm();
  };
  const save = (event: FormEvent) => {
    event.preventDefault();
    void submit();
  };
  return (
    <DropZone off={session !== null} add={files.add}>
      <Flex component="form" direction="column" gap="lg" onSubmit={save} noValidate>
        {session !== null && (
          <Note>
            It was started: its prompt, branch, model and dependencies stay. Send it a message, or change model and mode
            on its page.
          </Note>
        )}
        {stage.source !== null && session === null && (
          <Note>Imported from {stage.source}. Importing it again brings it back to what that file says.</Note>
        )}
        {(isRestored || files.isRestored) && <FormDraftNote discard={startOver} />}
        <StageFields
          form={form}
          set={set}
          errors={errors}
          files={files}
          stageId={stage.id}
          startedPhases={session === null ? null : session.phaseIndex + 1}
        />
        {edit.error !== null && <ErrorNote lead={failureLead(edit.error)} saysBoth error={edit.error} />}
        <FormEnd>
          <Button variant="default" onClick={end}>
            Cancel
          </Button>
          <Button type="submit" disabled={!useCanCommand()} loading={edit.isPending}>
            Save
          </Button>
        </FormEnd>
      </Flex>
    </DropZone>
  );
}
