import type { Machine } from '@callboard/contract';
import { Button, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { Dialog } from '../../../ui/dialog.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { useDeclareLost, useRemoveMachine } from '../api/use-machines.ts';
import css from './machines.module.css';

interface DialogProps {
  machine: Machine;
  /** How it is called, so that it differs from the others. */
  name: string;
  close: () => void;
}

/** Asks before a machine is declared lost. */
export function LostDialog({ machine: { id }, name, close }: DialogProps) {
  const declare = useDeclareLost();
  return (
    <AskDialog title={`Declare ${name} lost`} verb="Declare lost" command={declare} id={id} close={close}>
      <p className={css.words}>
        Its open requests are closed, and its stages are interrupted. They can be started on another machine, from their
        branches as last pushed; anything not pushed stays on {name}.
      </p>
      <p className={css.words}>
        Claude Code may still work there: this ends Callboard’s orders, not its processes. When {name} comes back, it
        keeps the uncommitted work of these stages in git, ends their processes, and says so in their transcripts.
      </p>
      <p className={css.words}>
        The conversations are in the home folder of {name}. Elsewhere, Claude begins new ones.
      </p>
    </AskDialog>
  );
}

interface RemoveProps extends DialogProps {
  /** The names of the projects that no other machine has. */
  onlyHere: readonly string[];
}

/** Asks before a lost machine is taken off the list. */
export function RemoveDialog({ machine: { id }, name, onlyHere, close }: RemoveProps) {
  const remove = useRemoveMachine();
  return (
    <AskDialog title={`Remove ${name}`} verb="Remove" command={remove} id={id} close={close}>
      <p className={css.words}>
        {name} leaves this list, and Callboard forgets where it has repositories. Stages and transcripts stay. What is
        pinned to {name} waits until you choose another machine.
      </p>
      {onlyHere.length > 0 && (
        <p className={css.words}>
          No other machine has the repository of {onlyHere.join(', ')}. Add it on another one, so that the stages can
          run there.
        </p>
      )}
      <p className={css.words}>
        If {name} comes back with its data, it is listed again. It first keeps the uncommitted work of the stages that
        were taken from it in git, and ends their processes.
      </p>
    </AskDialog>
  );
}

interface AskProps {
  title: string;
  /** The verb on the button. */
  verb: string;
  command: ReturnType<typeof useDeclareLost> | ReturnType<typeof useRemoveMachine>;
  id: Machine['id'];
  close: () => void;
  children: ReactNode;
}

/** Asks before something is done to a machine, and shows why it was refused. */
function AskDialog({ title, verb, command, id, close, children }: AskProps) {
  return (
    <Dialog opened close={close} title={title} size={520}>
      {children}
      {command.error !== null && <ErrorNote error={command.error} />}
      <Group justify="flex-end" gap="sm" mt="lg">
        <Button variant="default" onClick={close} data-autofocus>
          Cancel
        </Button>
        <Button color="red" loading={command.isPending} onClick={() => command.mutate(id, { onSuccess: close })}>
          {verb}
        </Button>
      </Group>
    </Dialog>
  );
}
