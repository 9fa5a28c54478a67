import { join } from 'node:path';
import { acquireProcessLock, findLockHolder, type LockHolder, type ProcessLock } from '@callboard/runtime/process-lock';

export { AlreadyLocked } from '@callboard/runtime/process-lock';

/** The lock of the one supervisor of a data directory. */
export type SupervisorLock = ProcessLock;
/** The supervisor of a data directory. */
export type SupervisorRecord = LockHolder;

const lockFile = (dataDir: string) => join(dataDir, 'run', 'supervisor.json');

/** Takes the lock for this process; makes the data directory if it is missing. @throws AlreadyLocked */
export const acquireSupervisorLock = (dataDir: string, port: number, now: Date): Promise<SupervisorLock> =>
  acquireProcessLock(lockFile(dataDir), port, now);

/** Returns the living supervisor of a data directory, or null. */
export const findSupervisor = (dataDir: string): Promise<SupervisorRecord | null> => findLockHolder(lockFile(dataDir));
