import type { LaunchId } from '@callboard/contract';
import type { Edges } from '../lib/edges.ts';
import type { Tx } from '../store/store.ts';
import type { SessionChange } from './session-change.ts';

/** What an event of an agent is taken in with. */
export interface EventContext {
  tx: Tx;
  change: SessionChange;
  launchId: LaunchId;
  edges: Edges;
  /** Absolute path of the worktree, to shorten what is shown. */
  worktree: string | null;
  /** Something acted on the session that is neither a person nor Callboard: the process is to be stopped. */
  onAlarm: () => void;
  /** Whether the store knows all that the process was given; not where a backup has taken its place. */
  knowsAll: boolean;
  /** Whether hooks that a person agreed to may allow tools: the user's own, or the repository's by choice. */
  mayHooksAllow: boolean;
  /** Callboard has the process run commands in the sandbox; `autoAllows`: without a question. */
  sandbox: { isOn: boolean; autoAllows: boolean };
  /** Whether other sessions may send messages to this one: a person wants that for its project. */
  mayPeersWrite: boolean;
}
