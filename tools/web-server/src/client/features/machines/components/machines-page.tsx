import type { Machine } from '@callboard/contract';
import { Button, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { count, sizeWords } from '../../../lib/format.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { PlainPage } from '../../../ui/plain-page.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { machinesQuery, useDeclareLost } from '../api/use-machines.ts';
import css from './machines.module.css';

/** The machines that share the store. */
export default function MachinesPage() {
  const { data, error, refetch } = useQuery(machinesQuery);
  const [losing, setLosing] = useState<Machine | null>(null);
  return (
    <PlainPage
      title="Machines"
      about="The machines that share this board. A stage runs where its repository is, and stays on the machine that started it."
    >
      {error !== null && (
        <ErrorNote lead="The machines could not be read." error={error} retry={() => void refetch()} />
      )}
      {data?.machines.length === 0 && <p>This Callboard has a store of its own, so there are no other machines.</p>}
      <ul className={css.list} aria-label="Machines">
        {data?.machines.map((machine) => (
          <Entry
            key={machine.id}
            machine={machine}
            isHere={machine.id === data.here}
            declareLost={() => setLosing(machine)}
          />
        ))}
      </ul>
      {losing !== null && <LostDialog machine={losing} close={() => setLosing(null)} />}
    </PlainPage>
  );
}

const STATES = { connected: 'Connected', unreachable: 'Unreachable', lost: 'Lost' } as const;

function Entry({ machine, isHere, declareLost }: { machine: Machine; isHere: boolean; declareLost: () => void }) {
  const { name, state, since, seenAt, sessions, slots, freeSlots, load, projects } = machine;
  const canCommand = useCanCommand();
  return (
    <li className={css.entry}>
      <div className={css.what}>
        <h2 className={css.name}>
          {name}
          {isHere && <span className={css.here}>this board is served from here</span>}
        </h2>
        <div className={css.facts}>
          <span className={css.state} data-state={state}>
            {STATES[state]}
            {state !== 'connected' && (
              <>
                {' for '}
                <TimeSince at={state === 'unreachable' ? seenAt : since} />
              </>
            )}
          </span>
          {state === 'connected' && (
            <>
              <span>
                {count(sessions, 'session')}, {freeSlots} of {count(slots, 'slot')} free
              </span>
              <span>load {load.toFixed(1)}</span>
              <span>
                {sizeWords(machine.freeMemoryBytes)} of {sizeWords(machine.memoryBytes)} free
              </span>
            </>
          )}
          <span>
            Callboard {machine.version}
            {machine.claudeVersion !== null && `, Claude Code ${machine.claudeVersion}`}
          </span>
          <span>{projects.length === 0 ? 'no repositories' : projects.join(', ')}</span>
        </div>
      </div>
      {state === 'unreachable' && (
        <Button variant="default" size="sm" disabled={!canCommand} onClick={declareLost}>
          Declare lost
        </Button>
      )}
    </li>
  );
}

function LostDialog({ machine: { id, name }, close }: { machine: Machine; close: () => void }) {
  const declare = useDeclareLost();
  return (
    <Dialog opened close={close} title={`Declare ${name} lost`} size={520}>
      <p className={css.words}>
        Its open requests are closed, and its stages are interrupted. They can be started on another machine, from the
        branch that was pushed last; what was not pushed stays on {name}.
      </p>
      <p className={css.words}>
        Claude Code may still work there: this ends Callboard’s orders, not its processes. When {name} comes back, it
        keeps the uncommitted work of these stages in git, ends their processes, and says so in their transcripts.
      </p>
      <p className={css.words}>
        The conversations are in the home folder of {name}. Elsewhere, Claude begins new ones.
      </p>
      {declare.error !== null && <ErrorNote error={declare.error} />}
      <Group justify="flex-end" gap="sm" mt="lg">
        <Button variant="default" onClick={close} data-autofocus>
          Cancel
        </Button>
        <Button color="red" loading={declare.isPending} onClick={() => declare.mutate(id, { onSuccess: close })}>
          Declare lost
        </Button>
      </Group>
    </Dialog>
  );
}
