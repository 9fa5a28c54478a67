import type { Machine } from '@callboard/contract';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { count, formatSize } from '../../../lib/format.ts';
import { machineLabel } from '../../../lib/machine-choice.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { PlainPage } from '../../../ui/plain-page.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { machinesQuery } from '../api/use-machines.ts';
import { LostDialog, RemoveDialog } from './machine-dialogs.tsx';
import css from './machines.module.css';

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
      {data?.machines.length === 0 && <p>This Callboard has a store of its own, so there are no other machines.</p>}
      <ul className={css.list} aria-label="Machines">
        {machines.map((machine) => (
          <Entry
            key={machine.id}
            machine={machine}
            isHere={machine.id === data?.here}
            isTwin={machineLabel(machine, machines) !== machine.name}
            ask={(what) => ask({ what, machine })}
          />
        ))}
      </ul>
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

const STATES = { connected: 'Connected', unreachable: 'Unreachable', lost: 'Lost' } as const;

interface EntryProps {
  machine: Machine;
  isHere: boolean;
  /** Another machine has the same name. */
  isTwin: boolean;
  ask: (what: Asked['what']) => void;
}

function Entry({ machine, isHere, isTwin, ask }: EntryProps) {
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
        </div>
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
    </li>
  );
}
