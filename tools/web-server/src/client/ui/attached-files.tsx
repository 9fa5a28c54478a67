import type { Attachment, AttachmentInfo } from '@callboard/contract';
import { ActionIcon, Box, Group, Loader } from '@mantine/core';
import { IconFileText, IconPaperclip, IconX } from '@tabler/icons-react';
import { type ReactNode, type SyntheticEvent, useState } from 'react';
import { formatSize } from '../lib/format.ts';
import css from './attached-files.module.css';
import { Hint } from './primitives.tsx';

interface AttachedFileProps {
  file: AttachmentInfo & { size: number };
  /** For a thumbnail; null while it is not loaded. */
  content: Attachment | null;
  /** Its upload is pending. */
  isAdding?: boolean;
  isRemoving?: boolean;
  /** Without it, there is no button. */
  remove?: () => void;
}

export const isImage = ({ mediaType }: AttachmentInfo): boolean => mediaType.startsWith('image/');

/** The files of a message. */
export const FileList = ({ children }: { children: ReactNode }) => (
  <Group component="ul" gap="xs" aria-label="Attached files">
    {children}
  </Group>
);

/** A file with its size: an image as a thumbnail. */
export function AttachedFile({ file, content, isAdding = false, isRemoving = false, remove }: AttachedFileProps) {
  const { name, size } = file;
  return (
    <li className={css.file} aria-busy={isAdding}>
      {isImage(file) && content !== null ? (
        <img src={`data:${content.mediaType};base64,${content.dataBase64}`} alt="" />
      ) : (
        <span>
          <IconFileText size={20} aria-hidden />
        </span>
      )}
      <Box component="span" display="grid" miw={0} maw={200}>
        <span className="truncate" title={name}>
          {name}
        </span>
        <Hint span size="xs" className="figures">
          {formatSize(size)}
        </Hint>
      </Box>
      {isAdding && <Loader size={14} color="gray" role="img" aria-label={`Adding ${name}`} />}
      {remove !== undefined && (
        <ActionIcon
          variant="subtle"
          color="gray"
          size={24}
          aria-label={`Remove ${name}`}
          loading={isRemoving}
          onClick={remove}
        >
          <IconX size={14} />
        </ActionIcon>
      )}
    </li>
  );
}

interface AttachProps {
  off?: boolean;
  add: (files: File[]) => void;
}

/** Opens the browser's file chooser. */
export function AttachButton({ off = false, add }: AttachProps) {
  return (
    <label className={css.attach} data-off={off} title="Attach files: choose, paste or drop images, PDF and text">
      <input
        type="file"
        multiple
        className="visually-hidden"
        aria-label="Attach files"
        disabled={off}
        onChange={(event) => {
          add([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = '';
        }}
      />
      <IconPaperclip size={18} aria-hidden />
    </label>
  );
}

/** A place to drop files on. Files that are dropped while it is off are ignored. */
export function DropZone({ off = false, add, children }: AttachProps & { children: ReactNode }) {
  const [isOver, setIsOver] = useState(false);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a place to drop files on; the button in it does the same
    <div
      className={css.drop}
      data-over={isOver}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes('Files')) return;
        event.preventDefault();
        setIsOver(!off);
      }}
      onDragLeave={({ currentTarget, relatedTarget }) =>
        setIsOver(relatedTarget instanceof Node && currentTarget.contains(relatedTarget) && isOver)
      }
      onDrop={(event) => {
        setIsOver(false);
        takeFiles(event, event.dataTransfer, off ? null : add);
      }}
    >
      {children}
    </div>
  );
}

/** Adds the files that were pasted or dropped. Without files the event keeps its default action. */
export function takeFiles(event: SyntheticEvent, { files }: DataTransfer, add: AttachProps['add'] | null): void {
  if (files.length === 0) return;
  event.preventDefault();
  add?.([...files]);
}
