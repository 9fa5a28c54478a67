import type { Machine } from '@callboard/contract';
import type { MachineRecord } from '../store/ports/machine-tables.ts';
import type { Places } from './places.ts';

/** Returns what people see of a machine. */
export const machineView = (record: MachineRecord, places: Pick<Places, 'of'>): Machine => {
  const { epoch: _, url: _url, secretSha256: _secret, silentMs: _silent, isConnected, state, ...told } = record;
  // The store's clock knows before anybody has noted it.
  const isOverdue = state === 'connected' && !isConnected;
  return {
    ...told,
    ...(isOverdue ? { state: 'unreachable' as const, since: record.seenAt } : { state }),
    projects: places.of(record.id),
  };
};
