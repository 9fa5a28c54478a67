import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import type { DetachedJob, ProcessExit } from './detach-here.ts';
import type { Job, Ran } from './run-here.ts';

/** Messages from the orchestrator to its spawner. Both come from one build, so neither checks the other's messages. */
export type ToSpawner =
  | { type: 'run'; id: number; job: Job }
  | { type: 'abort'; id: number }
  | { type: 'detach'; id: number; job: DetachedJob }
  /** Ends all running jobs, but no detached process; then the spawner exits. */
  | { type: 'end' };

/** Messages from the spawner to the orchestrator. */
export type FromSpawner =
  | { type: 'ran'; id: number; ran: Ran }
  | { type: 'detached'; id: number; identity: ProcessIdentity }
  | { type: 'not-detached'; id: number; message: string; code: string | null }
  | { type: 'exited'; id: number; exit: ProcessExit };
