import { Button, Group, Modal } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import type { ReactNode } from 'react';
import css from './dialog.module.css';
import { useCoversPage, useRecentlyShown, useTopLayer } from './shortcuts.tsx';

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
        <Modal.Body p="lg">{children}</Modal.Body>
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

interface ConfirmProps {
  opened: boolean;
  title: string;
  text: string;
  /** The verb on the button. */
  verb: string;
  busy: boolean;
  confirm: () => void;
  close: () => void;
}

/** Asks for confirmation of something that cannot be undone. */
export function Confirm({ opened, title, text, verb, busy, confirm, close }: ConfirmProps) {
  return (
    <Dialog opened={opened} close={close} title={title} size={440} closeOnClickOutside>
      <p>{text}</p>
      <Group justify="flex-end" gap="sm" mt="lg">
        <Button variant="default" onClick={close} data-autofocus>
          Cancel
        </Button>
        <Button onClick={confirm} loading={busy}>
          {verb}
        </Button>
      </Group>
    </Dialog>
  );
}
