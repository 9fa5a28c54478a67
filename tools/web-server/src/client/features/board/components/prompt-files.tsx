import type { AttachedFile as AttachedFileInfo, StageId } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { attachmentQuery } from '../../../data/attachments.ts';
import { AttachedFile, FileList, isImage } from '../../../ui/attached-files.tsx';
import { FailureNote, Note } from '../../../ui/note.tsx';
import type { FormFiles } from '../api/use-form-files.ts';

/** The files of the prompt, each with a button to remove it. */
export function PromptFiles({ stageId, files }: { stageId: StageId | null; files: FormFiles }) {
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
