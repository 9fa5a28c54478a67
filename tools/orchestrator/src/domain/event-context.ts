import type { LaunchId } from '@callboard/contract';
import type { Tx } from '../store/store.ts';
import type { SessionChange } from './session-change.ts';

/** What applying an event of an agent needs. */
export interface EventContext {
  tx: Tx;
  change: SessionChange;
  launchId: LaunchId;
  /** Absolute path of the worktree, to shorten paths that are shown. */
  worktree: string | null;
  /** Stops the process, because an action came from neither a person nor Callboard. */
  onAlarm: () => void;
  /** Whether the store has everything that the process was given; false after a backup was restored. */
  knowsAll: boolean;
  /** Whether hooks that a person agreed to may allow tools: the user's, or the repository's if they chose so. */
  mayHooksAllow: boolean;
  /** Whether Callboard has the process run commands in the sandbox, and whether it does so without asking. */
  sandbox: { isOn: boolean; autoAllows: boolean };
  /** Whether other sessions may send messages to this one: a setting of its project. */
  mayPeersWrite: boolean;
}
