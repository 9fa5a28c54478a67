import { Modal } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import type { ReactNode } from 'react';
import css from './dialog.module.css';
import { useCoversPage, useLately, useTopLayer } from './dialog-layers.ts';

interface DialogProps {
  opened: boolean;
  title: string;
  size: number;
  close: () => void;
  /** Closed by a click beside it; not where something was typed. */
  closeOnClickOutside?: boolean;
  children: ReactNode;
}

/** A dialog over the page; the whole screen on a phone. */
export function Dialog({ opened, title, size, close, closeOnClickOutside = false, children }: DialogProps) {
  useCoversPage(opened);
  const isCovered = useTopLayer() === 'above';
  // The Escape that closes what lies above it is not meant for it as well.
  const wasCovered = useLately(isCovered);
  const fullScreen = useMediaQuery('(max-width: 767px)') ?? false;
  return (
    <Modal.Root
      opened={opened}
      onClose={close}
      closeOnClickOutside={closeOnClickOutside}
      size={size}
      fullScreen={fullScreen}
      padding={0}
      closeOnEscape={!wasCovered}
      inert={isCovered}
    >
      <Modal.Overlay backgroundOpacity={0.4} />
      <Modal.Content className={css.content}>
        <DialogHead title={title}>
          <Modal.CloseButton aria-label="Close" />
        </DialogHead>
        <Modal.Body className={css.body}>{children}</Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

/** The dialog's name and what stands beside it. No `header`: a page has one of those. */
function DialogHead({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className={css.head}>
      <Modal.Title className={css.title}>{title}</Modal.Title>
      {children}
    </div>
  );
}
