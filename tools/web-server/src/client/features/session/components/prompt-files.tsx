import type { AttachedFile as AttachedFileInfo, StageView, TranscriptEntry } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { attachmentQuery } from '../../../data/attachments.ts';
import { boardQuery, stageOf } from '../../../data/queries.ts';
import { AttachedFile, FileList, isImage } from '../../../ui/attached-files.tsx';
import css from './prompt-files.module.css';
import transcript from './transcript.module.css';

/** The files of a stage's first message: images as pictures, the others by name. */
export function PromptFiles({ stage }: { stage: Pick<StageView, 'id' | 'attachments'> }) {
  const { id, attachments } = stage;
  const others = attachments.filter((file) => !isImage(file));
  if (attachments.length === 0) return null;
  return (
    <div className={css.files}>
      {attachments.filter(isImage).map((file) => (
        <Picture key={file.fileId} stageId={id} file={file} />
      ))}
      {others.length > 0 && (
        <FileList>
          {others.map((file) => (
            <AttachedFile key={file.fileId} file={file} content={null} />
          ))}
        </FileList>
      )}
    </div>
  );
}

/** Its place is kept while it loads, so that nothing moves. */
function Picture({ stageId, file }: { stageId: StageView['id']; file: AttachedFileInfo }) {
  const { data } = useQuery(attachmentQuery(stageId, file.fileId));
  return (
    <span className={css.picture}>
      {data !== undefined && (
        <img src={`data:${data.mediaType};base64,${data.dataBase64}`} alt={file.name} title={file.name} />
      )}
    </span>
  );
}

/** The files of a message that was sent. Those of the first message are kept with the stage, so they can be shown. */
export function SentFiles({ entry }: { entry: Extract<TranscriptEntry, { kind: 'user' }> }) {
  const { data: stage } = useQuery({ ...boardQuery, select: stageOf(entry.stageId) });
  const isFirst = stage !== undefined && stage.attachments.length > 0 && entry.text.startsWith(stage.prompt);
  if (isFirst) return <PromptFiles stage={stage} />;
  return <div className={transcript.attached}>With {entry.attachments.map((file) => file.name).join(', ')}</div>;
}
