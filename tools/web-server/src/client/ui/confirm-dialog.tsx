import { Button, Group } from '@mantine/core';
import { Dialog } from './dialog.tsx';

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
