import { ProjectId } from '@callboard/contract';
import { Textarea } from '@mantine/core';
import type { KeyboardEvent } from 'react';
import { useSuggestions } from '../../../data/use-suggestions.ts';
import { CompletionList, useTextCompletion } from '../../../ui/text-completion.tsx';
import type { StageFormControl } from '../model/stage-form.ts';
import css from './prompt-box.module.css';

const NO_PROJECT = ProjectId.parse('none');

/** What Claude is told first, with completion of files and commands. */
export function PromptBox({ form, set, errors, submit }: StageFormControl & { submit: () => void }) {
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
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.nativeEvent.isComposing) return;
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
        autosize
        minRows={6}
        maxRows={18}
        value={form.prompt}
        error={errors.prompt}
        {...completion.field}
        onKeyDown={onKeyDown}
        data-autofocus
        data-prompt
        required
      />
      <div className={css.list}>
        <CompletionList {...completion.list} />
      </div>
    </div>
  );
}
