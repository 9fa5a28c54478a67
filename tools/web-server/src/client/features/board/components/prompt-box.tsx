import { ProjectId, type StageId } from '@callboard/contract';
import { Textarea } from '@mantine/core';
import type { KeyboardEvent } from 'react';
import { useSuggestions } from '../../../data/use-suggestions.ts';
import { isComposing } from '../../../lib/is-composing.ts';
import { AttachButton, takeFiles } from '../../../ui/attached-files.tsx';
import { CompletionList, useTextCompletion } from '../../../ui/text-completion.tsx';
import type { FormFiles } from '../api/use-form-files.ts';
import type { StageFormControl } from '../model/stage-form.ts';
import css from './prompt-box.module.css';
import { PromptFiles } from './prompt-files.tsx';

const NO_PROJECT = ProjectId.parse('none');

interface PromptBoxProps extends StageFormControl {
  stageId: StageId | null;
  files: FormFiles;
  submit: () => void;
}

/** What Claude is told first, with its files, and completion of paths and commands. */
export function PromptBox({ form, set, errors, stageId, files, submit }: PromptBoxProps) {
  const project = ProjectId.safeParse(form.projectId);
  const completion = useTextCompletion({
    text: form.prompt,
    isOn: project.success,
    change: (prompt) => set({ prompt }),
    commandChosen: () => set({ isCommand: true }),
    useSuggestions,
    place: { projectId: project.data ?? NO_PROJECT },
  });
  const onKeyDown = (event: KeyboardEvent) => {
    if (completion.onKeyDown(event)) return;
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || isComposing(event.nativeEvent)) return;
    event.preventDefault();
    submit();
  };
  return (
    <div className={css.box}>
      <Textarea
        label="Prompt"
        classNames={{ label: 'visually-hidden', input: css.input, description: css.about }}
        placeholder="What should Claude do?"
        description="The first message Claude gets. @ for files, / for commands"
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        rightSection={<AttachButton add={files.add} />}
        rightSectionWidth={44}
        rightSectionProps={{ className: css.attach }}
        autosize
        minRows={6}
        maxRows={18}
        value={form.prompt}
        error={errors.prompt}
        {...completion.field}
        onKeyDown={onKeyDown}
        onPaste={(event) => takeFiles(event, event.clipboardData, files.add)}
        data-autofocus
        data-prompt
        required
      />
      <div className={css.list}>
        <CompletionList {...completion.list} />
      </div>
      <PromptFiles stageId={stageId} files={files} />
    </div>
  );
}
