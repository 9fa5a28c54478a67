import type { DraftFile, StageId } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import type { ReadFile } from '../../../lib/read-file.ts';
import { AttachedFile, FileList, isImage } from '../../../ui/attached-files.tsx';
import { draftFileQuery, useRemoveFile } from '../api/use-files.ts';

interface AttachedFilesProps {
  stageId: StageId;
  kept: readonly DraftFile[];
  uploading: readonly ReadFile[];
}

/** The files of the message, each with its size and a button to remove it. */
export function AttachedFiles({ stageId, kept, uploading }: AttachedFilesProps) {
  const adding = uploading.filter((file) => !kept.some((other) => other.fileId === file.fileId));
  if (kept.length + adding.length === 0) return null;
  return (
    <FileList>
      {kept.map((file) => (
        <SavedFile key={file.fileId} stageId={stageId} file={file} />
      ))}
      {adding.map(({ fileId, size, content }) => (
        <AttachedFile key={fileId} file={{ ...content, size }} content={content} isAdding />
      ))}
    </FileList>
  );
}

function SavedFile({ stageId, file }: { stageId: StageId; file: DraftFile }) {
  const remove = useRemoveFile(stageId);
  const { data: content = null } = useQuery({ ...draftFileQuery(stageId, file.fileId), enabled: isImage(file) });
  return (
    <AttachedFile
      file={file}
      content={content}
      isRemoving={remove.isPending}
      remove={() => remove.mutate(file.fileId)}
    />
  );
}
