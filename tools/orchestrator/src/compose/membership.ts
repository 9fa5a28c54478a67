import type { MachineId, ProjectId } from '@callboard/contract';
import type { Logins } from '../core/commands/logins.ts';
import { ALL_CLAIMED, type Claims } from '../core/launch/begin-launch.ts';
import type { StartGate } from '../core/launch/scheduler.ts';
import { refusePin } from '../core/session/stages.ts';
import type { Worktrees } from '../core/worktrees/worktrees.ts';
import { type Machines, NO_OTHERS } from '../features/machines/machines.ts';
import { type Installations, ONLY_HERE } from '../features/projects/projects.ts';
import type { WorktreeCleaning } from '../features/trash/clean-worktrees.ts';
import type { Trash } from '../features/trash/trash.ts';
import { ALL_HERE, type CommandRouter, type ForeignCommand } from '../gateway/execute-command.ts';
import { type GatewayPeers, NO_PEERS } from '../gateway/gateway.ts';
import type { MachineReport } from '../store/ports/machine-port.ts';
import type { SearchIndex } from '../store/search/search-text.ts';
import type { SharedIndexOptions, SharedStore, SharedStoreOptions } from '../store/shared-store.ts';
import type { Store, Tables } from '../store/store.ts';
import type { StartContext } from './context.ts';

/** What this machine reports of its work, once there is any. */
export type Workload = Pick<MachineReport, 'claudeVersion' | 'sessions' | 'freeSlots'>;

/** This machine among those that share its store. */
export interface Membership {
  /** Null: one machine has everything. */
  readonly here: MachineId | null;
  machines: Machines;
  /** Checks that a pin names one machine. @throws Rejection `unknown_machine`, `ambiguous_machine` */
  requirePin(pin: string): Promise<void>;
  /** Whether this machine does what one machine does for all; left out where there is one. */
  leads?: ((tables: Pick<Tables, 'machines'>) => Promise<boolean>) | undefined;
  places: Installations & {
    /** Whether this machine does what one of those does that have the project. */
    isFirst(id: ProjectId): boolean;
    /** Names the remotes of repositories that got their place without one, so that other machines know them. */
    nameRemotes(remoteOf: (root: string) => Promise<string | null>): Promise<void>;
  };
  claims: Claims;
  /** Whether this machine may give Claude anything: no other one can count it as unreachable. */
  mayWrite(): boolean;
  /** Keeps stages from starting here that another machine starts. */
  gates: readonly StartGate[];
  /** Returns what executes each command where it belongs. */
  routeWith(logins: Pick<Logins, 'lookUp'>): CommandRouter;
  /** Live text from and for other machines. */
  peers: GatewayPeers;
  /**
   * After this machine was declared lost and comes back: keeps the files of each stage that was taken from it, ends their processes,
   * and says in their transcripts what was found.
   */
  saveOrphanedWork(deps: { worktrees: Pick<Worktrees, 'snapshotTurn' | 'findAbandonedWorktrees'> }): Promise<void>;
  /** Takes the worktrees away that this machine had when it was declared lost, each once nothing can go on in it any more. */
  recoverOrphanedWorktrees(deps: RecoveryDeps): void;
  /** Lets this machine work for the others: it reports its room, executes their commands, and goes on whenever it may write again. */
  begin(deps: BeginDeps): void;
}

export interface RecoveryDeps {
  cleaning: Pick<WorktreeCleaning, 'cleanOrphaned'>;
  trash: Pick<Trash, 'list'>;
  worktrees: Pick<Worktrees, 'dropTurns'>;
}

export interface BeginDeps {
  workload: () => Promise<Workload>;
  /** Executes a command of another machine. Returns the reply as JSON; never throws. */
  execute: (command: ForeignCommand) => Promise<string>;
  onMayWriteAgain: () => void;
  /** A machine is not what it was. */
  onMachineUpdate: () => void;
}

/** The plain case: the store is a file of this machine. */
export const ONE_MACHINE: Membership = {
  here: null,
  machines: NO_OTHERS,
  requirePin: refusePin,
  places: { ...ONLY_HERE, isFirst: () => true, nameRemotes: async () => undefined },
  claims: ALL_CLAIMED,
  mayWrite: () => true,
  gates: [],
  routeWith: () => ALL_HERE,
  peers: NO_PEERS,
  saveOrphanedWork: async () => undefined,
  recoverOrphanedWorktrees: () => undefined,
  begin: () => undefined,
};

/** The store as people's commands see it, and as the services that act unasked do: that of one machine is both. */
export interface Stores {
  all: Store;
  own: Store;
  membership: Membership;
}

/** The add-on for stores that several machines share: the core knows no database server. */
export interface SharedStores {
  /**
   * Opens the store and brings it up to date.
   * @throws OperationalError `database_newer` if a newer Callboard wrote it, `storage_failed` if it cannot be reached or written
   */
  openStore(options: SharedStoreOptions): Promise<SharedStore>;
  /** Ends the sessions of an earlier process whose store cannot be opened, if this machine is cut off for long enough. */
  endIfCutOff(context: StartContext): Promise<void>;
  /** Keeps the index in the shared store, written by whichever machine comes first. */
  openSearchIndex(options: SharedIndexOptions): SearchIndex;
  /**
   * Makes this machine one of those that share the store: it gets a new epoch and a lease.
   * @param onLost somebody declared this machine lost, or another process took its place
   * @throws OperationalError `storage_failed`
   */
  joinMachines(
    context: StartContext,
    opened: { store: Store; shared: Pick<SharedStore, 'fenceWith'> },
    onLost: () => void,
  ): Promise<Stores>;
}

/** Loads the add-on, which a store in a file does not need. */
export type LoadSharedStores = () => Promise<SharedStores>;
