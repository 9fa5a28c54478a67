import { IconServer, IconServerOff } from '@tabler/icons-react';

interface MachineMarkProps {
  name: string;
  /** What is wrong with the machine; null if nothing is. */
  trouble: string | null;
  className?: string | undefined;
}

/** Where a stage runs. */
export function MachineMark({ name, trouble, className }: MachineMarkProps) {
  const Icon = trouble === null ? IconServer : IconServerOff;
  return (
    <span className={className} title={trouble ?? `Runs on ${name}`} data-tone={trouble === null ? undefined : 'needs'}>
      <Icon size={13} aria-hidden />{' '}
      <span className="visually-hidden">{trouble === null ? 'on ' : `${trouble}: `}</span>
      {name}
    </span>
  );
}
