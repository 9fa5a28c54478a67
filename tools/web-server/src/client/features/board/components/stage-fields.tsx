import { type StageId, titleProposal } from '@callboard/contract';
import { Button, Checkbox, TextInput } from '@mantine/core';
import { mayBeCommand } from '../../../lib/slash-commands.ts';
import { Note } from '../../../ui/note.tsx';
import { PhasesEditor } from '../../../ui/phases-editor.tsx';
import type { FormFiles } from '../api/use-form-files.ts';
import type { StageFormControl } from '../model/stage-form.ts';
import css from './forms.module.css';
import { FinishNote } from './pipeline-chips.tsx';
import { PromptBox } from './prompt-box.tsx';
import { StageChips } from './stage-chips.tsx';

interface StageFieldsProps extends StageFormControl {
  /** The edited stage; null for a new one. */
  stageId: StageId | null;
  /** How many phases have begun; null for a stage that was not started, where everything can change. */
  startedPhases: number | null;
  files: FormFiles;
  /** What `Ctrl+Enter` does. */
  submit: () => void;
}

/** The fields of a stage that can still change: the prompt first, everything else as chips with the defaults. */
export function StageFields({ form, set, errors, stageId, startedPhases, files, submit }: StageFieldsProps) {
  const part = { form, set, errors };
  const isOpen = startedPhases === null;
  return (
    <>
      {isOpen && <PromptBox {...part} stageId={stageId} files={files} submit={submit} />}
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
export const FormDraftNote = ({ discard }: { discard: () => void }) => (
  <Note>
    Draft restored.{' '}
    <Button variant="subtle" size="compact-sm" onClick={discard}>
      Start over
    </Button>
  </Note>
);
