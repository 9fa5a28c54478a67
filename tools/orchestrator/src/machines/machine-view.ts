import type { Machine } from '@callboard/contract';
import type { MachineRecord } from '../store/ports/machine-tables.ts';
import type { Locations } from './places.ts';

/** Returns what people see of a machine. */
export const machineView = (record: MachineRecord, locations: Pick<Locations, 'of'>): Machine => {
  const { epoch: _, url: _url, secretSha256: _secret, silentMs: _silent, isConnected, state, ...reported } = record;
  // The store's clock knows before anybody has noted it.
  const isOverdue = state === 'connected' && !isConnected;
  return {
    ...reported,
    ...(isOverdue ? { state: 'unreachable' as const, since: record.seenAt } : { state }),
    projects: locations.of(record.id),
  };
};
