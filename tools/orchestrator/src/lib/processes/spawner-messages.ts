import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import type { DetachedJob, ProcessExit } from './detach-here.ts';
import type { Job, Ran } from './run-here.ts';

/** What the orchestrator tells its spawner. Both are of one build, so neither checks what the other says. */
export type ToSpawner =
  | { type: 'run'; id: number; job: Job }
  | { type: 'abort'; id: number }
  | { type: 'detach'; id: number; job: DetachedJob }
  /** Ends what runs, but for detached processes, and then itself. */
  | { type: 'end' };

export type FromSpawner =
  | { type: 'ran'; id: number; ran: Ran }
  | { type: 'detached'; id: number; identity: ProcessIdentity }
  | { type: 'not-detached'; id: number; message: string; code: string | null }
  | { type: 'exited'; id: number; exit: ProcessExit };
