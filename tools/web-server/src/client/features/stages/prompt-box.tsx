import { type AttachedFile as AttachedFileInfo, ProjectId, type StageId } from '@callboard/contract';
import { Stack, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { attachmentQuery } from '../../data/queries.ts';
import { useSuggestions } from '../../data/use-suggestions.ts';
import type { StageFormControl } from '../../lib/stage-form.ts';
import { AttachButton, AttachedFile, FileList, isImage, takeFiles } from '../../ui/attached-files.tsx';
import { FailureNote, Note } from '../../ui/notes.tsx';
import { CompletionList, useTextCompletion } from '../../ui/text-completion.tsx';
import type { FormFiles } from './form-files.ts';
import css from './prompt-box.module.css';

const NO_PROJECT = ProjectId.parse('none');

interface PromptBoxProps extends StageFormControl {
  stageId: StageId | null;
  files: FormFiles;
}

/** What Claude is told first, with its files, and completion of paths and commands. */
export function PromptBox({ form, set, errors, stageId, files }: PromptBoxProps) {
  const project = ProjectId.safeParse(form.projectId);
  const completion = useTextCompletion({
    text: form.prompt,
    isOn: project.success,
    change: (prompt) => set({ prompt }),
    commandChosen: () => set({ isCommand: true }),
    useSuggestions,
    place: { projectId: project.data ?? NO_PROJECT },
  });
  return (
    <Stack pos="relative">
      <Textarea
        label="Prompt"
        classNames={{ label: 'visually-hidden' }}
        styles={{ input: { fontSize: 'var(--text-l)', lineHeight: '24px' } }}
        descriptionProps={{ mt: 4, mb: 0 }}
        placeholder="What should Claude do?"
        description="Type @ to mention a file, / for a command"
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        rightSection={<AttachButton add={files.add} />}
        rightSectionWidth={44}
        rightSectionProps={{ style: { alignItems: 'flex-end', paddingBottom: 4 } }}
        autosize
        minRows={6}
        maxRows={18}
        value={form.prompt}
        error={errors.prompt}
        {...completion.field}
        onKeyDown={completion.onKeyDown}
        onPaste={(event) => takeFiles(event, event.clipboardData, files.add)}
        data-autofocus
        data-prompt
        required
      />
      <div className={css.list}>
        <CompletionList {...completion.list} />
      </div>
      <PromptFiles stageId={stageId} files={files} />
    </Stack>
  );
}

/** The files of the prompt, each with a button to remove it. */
function PromptFiles({ stageId, files }: { stageId: StageId | null; files: FormFiles }) {
  const { kept, added, problem, note, remove } = files;
  return (
    <>
      {problem !== null && <FailureNote>{problem}</FailureNote>}
      {note !== null && <Note>{note}</Note>}
      {kept.length + added.length > 0 && (
        <FileList>
          {stageId !== null &&
            kept.map((file) => (
              <SavedFile key={file.fileId} stageId={stageId} file={file} remove={() => remove(file.fileId)} />
            ))}
          {added.map(({ fileId, size, content }) => (
            <AttachedFile key={fileId} file={{ ...content, size }} content={content} remove={() => remove(fileId)} />
          ))}
        </FileList>
      )}
    </>
  );
}

interface SavedFileProps {
  stageId: StageId;
  file: AttachedFileInfo;
  remove: () => void;
}

function SavedFile({ stageId, file, remove }: SavedFileProps) {
  const { data: content = null } = useQuery({ ...attachmentQuery(stageId, file.fileId), enabled: isImage(file) });
  return <AttachedFile file={file} content={content} remove={remove} />;
}
