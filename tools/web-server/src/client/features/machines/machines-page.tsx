import type { Machine, MachineId } from '@callboard/contract';
import { Box, Button, Group, Stack, Text } from '@mantine/core';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { machineLabel } from '../../data/machines.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { count, formatSize } from '../../lib/format.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { PlainPage } from '../../ui/plain-page.tsx';
import { Entry, Facts, Hint } from '../../ui/primitives.tsx';
import { TimeSince } from '../../ui/text.tsx';

/** The machines that share the store. */
export default function MachinesPage() {
  const { data, error, refetch } = useQuery(machinesQuery);
  const [asked, ask] = useState<Asked | null>(null);
  const machines = data?.machines ?? [];
  const close = () => ask(null);
  const dialog = asked && { machine: asked.machine, name: machineLabel(asked.machine, machines), close };
  return (
    <PlainPage
      title="Machines"
      about="The machines that share this board. A stage runs where its repository is, and stays on the machine that started it."
    >
      {error !== null && (
        <ErrorNote lead="The machines could not be read." error={error} retry={() => void refetch()} />
      )}
      {data?.machines.length === 0 && <p>Only this machine. To share a board, connect several to one database.</p>}
      <Box component="ul" maw={860} aria-label="Machines">
        {machines.map((machine) => (
          <MachineEntry
            key={machine.id}
            machine={machine}
            isHere={machine.id === data?.here}
            isTwin={machineLabel(machine, machines) !== machine.name}
            ask={(what) => ask({ what, machine })}
          />
        ))}
      </Box>
      {dialog !== null && asked?.what === 'lose' && <LostDialog {...dialog} />}
      {dialog !== null && asked?.what === 'remove' && (
        <RemoveDialog {...dialog} onlyHere={onlyOn(dialog.machine, machines)} />
      )}
    </PlainPage>
  );
}

/** What a person is asked about a machine. */
interface Asked {
  what: 'lose' | 'remove';
  machine: Machine;
}

const onlyOn = ({ id, projects }: Machine, machines: readonly Machine[]): string[] =>
  projects.filter((project) => !machines.some((other) => other.id !== id && other.projects.includes(project)));

const TONES = { connected: undefined, unreachable: 'needs', lost: 'fail' } as const;
const STATES = { connected: 'Connected', unreachable: 'Unreachable', lost: 'Lost' } as const;

interface EntryProps {
  machine: Machine;
  isHere: boolean;
  /** Another machine has the same name. */
  isTwin: boolean;
  ask: (what: Asked['what']) => void;
}

function MachineEntry({ machine, isHere, isTwin, ask }: EntryProps) {
  const { name, state, since, seenAt, sessions, slots, freeSlots, load, projects } = machine;
  const canCommand = useCanCommand();
  return (
    <Entry>
      <div>
        <h2>
          {name}
          {isHere && (
            <Hint span ml="sm">
              this board is served from here
            </Hint>
          )}
        </h2>
        <Facts>
          <Text
            span
            inherit
            c={TONES[state] === undefined ? 'var(--text)' : undefined}
            fw={500}
            data-tone={TONES[state]}
          >
            {STATES[state]}
            {state !== 'connected' && (
              <>
                {' for '}
                <TimeSince at={state === 'unreachable' ? seenAt : since} />
              </>
            )}
          </Text>
          {state === 'connected' && (
            <>
              <span>
                {count(sessions, 'session')}, {freeSlots} of {count(slots, 'slot')} free
              </span>
              <span>load {load.toFixed(1)}</span>
              <span>
                {formatSize(machine.freeMemoryBytes)} of {formatSize(machine.memoryBytes)} free
              </span>
            </>
          )}
          <span>
            Callboard {machine.version}
            {machine.claudeVersion !== null && `, Claude Code ${machine.claudeVersion}`}
          </span>
          {machine.endsSessionsAfterMs !== null && (
            <span>
              ends its sessions after {count(Math.ceil(machine.endsSessionsAfterMs / 60_000), 'minute')} without the
              database
            </span>
          )}
          {isTwin && <code>{machine.id}</code>}
          <span>{projects.length === 0 ? 'no repositories' : projects.join(', ')}</span>
        </Facts>
      </div>
      {state === 'unreachable' && (
        <Button variant="default" size="sm" disabled={!canCommand} onClick={() => ask('lose')}>
          Declare lost
        </Button>
      )}
      {state === 'lost' && (
        <Button variant="default" size="sm" disabled={!canCommand} onClick={() => ask('remove')}>
          Remove
        </Button>
      )}
    </Entry>
  );
}

/** Load and memory have no event, so they are read again now and then while somebody looks. */
const READ_AGAIN_MS = 5_000;

/** The machines with their load, and the one that answers. */
const machinesQuery = queryOptions({
  queryKey: ['machines'],
  staleTime: 0,
  refetchInterval: READ_AGAIN_MS,
  queryFn: ({ signal }) => client.command('get_machines', {}, { signal }),
});

/** Declares a machine lost. The caller shows refusals. */
function useDeclareLost() {
  const cache = useQueryClient();
  return useCommand({
    run: (machineId: MachineId) => client.command('declare_machine_lost', { machineId }),
    done: () => void cache.invalidateQueries({ queryKey: machinesQuery.queryKey }),
  });
}

/** Takes a lost machine off the list. The caller shows refusals. */
function useRemoveMachine() {
  const cache = useQueryClient();
  return useCommand({
    run: (machineId: MachineId) => client.command('remove_machine', { machineId }),
    done: () => void cache.invalidateQueries({ queryKey: machinesQuery.queryKey }),
  });
}

interface DialogProps {
  machine: Machine;
  /** How it is called, so that it differs from the others. */
  name: string;
  close: () => void;
}

/** Asks before a machine is declared lost. */
function LostDialog({ machine: { id }, name, close }: DialogProps) {
  const declare = useDeclareLost();
  return (
    <AskDialog title={`Declare ${name} lost`} verb="Declare lost" command={declare} id={id} close={close}>
      <p>
        Its open requests are closed, and its stages are interrupted. They can be started on another machine, from their
        branches as last pushed; anything not pushed stays on {name}.
      </p>
      <p>
        Claude Code may still work there: this ends Callboard’s orders, not its processes. When {name} comes back, it
        keeps the uncommitted work of these stages in git, ends their processes, and says so in their transcripts.
      </p>
      <p>The conversations are in the home folder of {name}. Elsewhere, Claude begins new ones.</p>
    </AskDialog>
  );
}

interface RemoveProps extends DialogProps {
  /** The names of the projects that no other machine has. */
  onlyHere: readonly string[];
}

/** Asks before a lost machine is taken off the list. */
function RemoveDialog({ machine: { id }, name, onlyHere, close }: RemoveProps) {
  const remove = useRemoveMachine();
  return (
    <AskDialog title={`Remove ${name}`} verb="Remove" command={remove} id={id} close={close}>
      <p>
        {name} leaves this list, and Callboard forgets where it has repositories. Stages and transcripts stay. What is
        pinned to {name} waits until you choose another machine.
      </p>
      {onlyHere.length > 0 && (
        <p>
          No other machine has the repository of {onlyHere.join(', ')}. Add it on another one, so that the stages can
          run there.
        </p>
      )}
      <p>
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
      <Stack gap="md">{children}</Stack>
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
