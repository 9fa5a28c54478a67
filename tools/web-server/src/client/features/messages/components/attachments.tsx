import type { StageId } from '@callboard/contract';
import { ActionIcon } from '@mantine/core';
import { IconFileText, IconPaperclip, IconX } from '@tabler/icons-react';
import { fileSize, type HeldFile, useHeldFiles } from '../model/attachments.ts';
import css from './messages.module.css';

/** The files that go with the message, each with its size and a way to take it back. */
export function HeldFileList({ stageId, files }: { stageId: StageId; files: readonly HeldFile[] }) {
  const { remove } = useHeldFiles.getState();
  if (files.length === 0) return null;
  return (
    <ul className={css.files} aria-label="Attached files">
      {files.map(({ id, size, content }) => (
        <li key={id} className={css.file}>
          {content.mediaType.startsWith('image/') ? (
            <img src={`data:${content.mediaType};base64,${content.dataBase64}`} alt="" />
          ) : (
            <IconFileText size={20} aria-hidden />
          )}
          <span className={css.fileName} title={content.name}>
            {content.name}
          </span>
          <span className={css.fileSize}>{fileSize(size)}</span>
          <ActionIcon
            variant="subtle"
            color="gray"
            size={24}
            aria-label={`Remove ${content.name}`}
            onClick={() => remove(stageId, new Set([id]))}
          >
            <IconX size={14} />
          </ActionIcon>
        </li>
      ))}
    </ul>
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
