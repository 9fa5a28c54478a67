import { IconServer, IconServerOff } from '@tabler/icons-react';

interface MachineMarkProps {
  name: string;
  /** What is wrong with the machine; null if nothing is. */
  storageError: string | null;
  className?: string | undefined;
}

/** Where a stage runs. */
export function MachineMark({ name, storageError, className }: MachineMarkProps) {
  const Icon = storageError === null ? IconServer : IconServerOff;
  return (
    <span
      className={className}
      title={storageError ?? `Runs on ${name}`}
      data-tone={storageError === null ? undefined : 'needs'}
    >
      <Icon size={13} aria-hidden />{' '}
      <span className="visually-hidden">{storageError === null ? 'on ' : `${storageError}: `}</span>
      {name}
    </span>
  );
}
