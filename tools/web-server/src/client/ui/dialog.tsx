import { Button, Group, Modal } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { type KeyboardEvent, type ReactNode, useEffect, useState } from 'react';
import { create } from 'zustand';
import css from './dialog.module.css';
import { isComposing, useCoversPage, useRecentlyShown, useTopLayer } from './shortcuts.tsx';

interface DialogProps {
  opened: boolean;
  title: string;
  size: number;
  close: () => void;
  /** Whether a click outside closes it. Leave it off for forms. */
  closeOnClickOutside?: boolean;
  children: ReactNode;
}

/** The places in the heads of the open dialogs for what concerns something else; the last one is on top. */
const usePlaces = create<readonly Element[]>(() => []);
/** The same for notices. */
const useNoticePlaces = create<readonly Element[]>(() => []);

/** Returns where the topmost dialog shows what concerns something else, without covering its fields; null if there is no dialog. */
export const useDialogPlace = (): Element | null => usePlaces((places) => places.at(-1) ?? null);

/** Returns where the topmost dialog shows notices: beside them, its controls stay in reach. Null if there is no dialog. */
export const useNoticePlace = (): Element | null => useNoticePlaces((places) => places.at(-1) ?? null);

interface PlaceProps {
  store: typeof usePlaces;
  className: string | undefined;
  isOpen: boolean;
}

/** Room in a dialog, until it begins to close: what moves out of it later could slip away under a press. */
function Place({ store, className, isOpen }: PlaceProps) {
  const [place, setPlace] = useState<HTMLDivElement | null>(null);
  useEffect(() => {
    if (place === null || !isOpen) return;
    store.setState((places) => [...places, place], true);
    return () => store.setState((places) => places.filter((other) => other !== place), true);
  }, [place, store, isOpen]);
  return <div className={className} ref={setPlace} />;
}

/** Room for notices at the top of a dialog. */
export const NoticePlace = ({ isOpen }: { isOpen: boolean }) => (
  <Place store={useNoticePlaces} className={css.notices} isOpen={isOpen} />
);

/** On the button of a form that Ctrl Enter and Cmd Enter press; without it, they press the one that submits the form. */
export const MAIN_BUTTON = { 'data-main': true } as const;

/** A form's own button may stand outside of it. */
const isSubmit = (element: Element) => element instanceof HTMLButtonElement && element.type === 'submit';

/** Ctrl Enter or Cmd Enter does what the main button of the form does, in whatever field the caret is. */
function pressMainButton(event: KeyboardEvent): void {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat) return;
  if (event.defaultPrevented || isComposing(event.nativeEvent) || !(event.target instanceof Element)) return;
  const form = event.target.closest('form');
  const button = form?.querySelector<HTMLButtonElement>('[data-main]') ?? [...(form?.elements ?? [])].find(isSubmit);
  if (button == null) return;
  event.preventDefault();
  if (button instanceof HTMLButtonElement) button.click();
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
        <div className={css.top}>
          <DialogHead title={title}>
            <Place store={usePlaces} className={css.place} isOpen={opened} />
            <Modal.CloseButton aria-label="Close" />
          </DialogHead>
          <NoticePlace isOpen={opened} />
        </div>
        <Modal.Body p="lg" onKeyDown={pressMainButton}>
          {children}
        </Modal.Body>
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
