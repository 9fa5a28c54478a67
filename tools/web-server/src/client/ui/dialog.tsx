import { Modal } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import type { ReactNode } from 'react';
import css from './dialog.module.css';
import { useCoversPage, useRecentlyShown, useTopLayer } from './dialog-layers.ts';

interface DialogProps {
  opened: boolean;
  title: string;
  size: number;
  close: () => void;
  /** Whether a click outside closes it. Leave it off for forms. */
  closeOnClickOutside?: boolean;
  children: ReactNode;
}

/** A dialog over the page; on a phone it fills the screen. */
export function Dialog({ opened, title, size, close, closeOnClickOutside = false, children }: DialogProps) {
  useCoversPage(opened);
  const isCovered = useTopLayer() === 'above';
  // The Escape that closes the layer above must not close this dialog too.
  const wasCovered = useRecentlyShown(isCovered);
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

/** The dialog's title and what is beside it. It is no `header` element: a page has only one. */
function DialogHead({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className={css.head}>
      <Modal.Title className={css.title}>{title}</Modal.Title>
      {children}
    </div>
  );
}
