import type { Attachment, DraftFile, StageId } from '@callboard/contract';
import { ActionIcon, Loader } from '@mantine/core';
import { IconFileText, IconPaperclip, IconX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { draftFileQuery, useRemoveFile } from '../api/use-files.ts';
import { fileSize, type ReadFile } from '../model/read-file.ts';
import css from './messages.module.css';

interface FileListProps {
  stageId: StageId;
  kept: readonly DraftFile[];
  uploading: readonly ReadFile[];
}

/** The files of the message, each with its size and a button to remove it. */
export function AttachedFiles({ stageId, kept, uploading }: FileListProps) {
  const adding = uploading.filter((file) => !kept.some((other) => other.fileId === file.fileId));
  if (kept.length + adding.length === 0) return null;
  return (
    <ul className={css.files} aria-label="Attached files">
      {kept.map((file) => (
        <KeptFile key={file.fileId} stageId={stageId} file={file} />
      ))}
      {adding.map(({ fileId, size, content }) => (
        <li key={fileId} className={css.file} aria-busy>
          <Words name={content.name} size={size} icon={<Icon content={content} />} />
          <Loader size={14} color="gray" aria-label={`Adding ${content.name}`} />
        </li>
      ))}
    </ul>
  );
}

function KeptFile({ stageId, file: { fileId, name, mediaType, size } }: { stageId: StageId; file: DraftFile }) {
  const remove = useRemoveFile(stageId);
  const isImage = mediaType.startsWith('image/');
  const { data: content = null } = useQuery({ ...draftFileQuery(stageId, fileId), enabled: isImage });
  return (
    <li className={css.file}>
      <Words name={name} size={size} icon={<Icon content={content} />} />
      <ActionIcon
        variant="subtle"
        color="gray"
        size={24}
        aria-label={`Remove ${name}`}
        loading={remove.isPending}
        onClick={() => remove.mutate(fileId)}
      >
        <IconX size={14} />
      </ActionIcon>
    </li>
  );
}

const Words = ({ name, size, icon }: { name: string; size: number; icon: ReactNode }) => (
  <>
    {icon}
    <span className={css.fileName} title={name}>
      {name}
    </span>
    <span className={css.fileSize}>{fileSize(size)}</span>
  </>
);

function Icon({ content }: { content: Attachment | null }) {
  return content?.mediaType.startsWith('image/') ? (
    <img src={`data:${content.mediaType};base64,${content.dataBase64}`} alt="" />
  ) : (
    <IconFileText size={20} aria-hidden />
  );
}

export function AttachButton({ off, add }: { off: boolean; add: (files: FileList) => void }) {
  return (
    <label className={css.attach} data-off={off} title="Attach files: choose, paste or drop images, PDF and text">
      <input
        type="file"
        multiple
        className="visually-hidden"
        aria-label="Attach files"
        disabled={off}
        onChange={(event) => {
          if (event.currentTarget.files !== null) add(event.currentTarget.files);
          event.currentTarget.value = '';
        }}
      />
      <IconPaperclip size={18} aria-hidden />
    </label>
  );
}
