import { Actor, MachineId, type MachineState, type ProjectId, type StageId, type Worktree } from '@callboard/contract';
import { z } from 'zod';

/** What a machine says of itself with each renewal of its lease. */
export interface MachineReport {
  name: string;
  version: string;
  claudeVersion: string | null;
  load: number;
  freeMemoryBytes: number;
  memoryBytes: number;
  sessions: number;
  slots: number;
  freeSlots: number;
  /** Where other machines reach it for live text; null: nowhere. */
  url: string | null;
  /** SHA-256, in hex, of the secret that it shows to others. */
  secretSha256: string;
  /** It ends its sessions when it has not reached the store for this long; null: it does not, or has stopped. */
  endsSessionsAfterMs: number | null;
}

/** A machine as the store knows it. Whether its lease runs is decided by the store's clock, whatever the clocks of machines say. */
export interface MachineRecord extends MachineReport {
  id: MachineId;
  /** Rises with each registration and when the machine is declared lost; writes with an older one are refused. */
  epoch: number;
  state: MachineState;
  /** Whether its lease runs now. `state` follows as soon as another machine notes it. */
  isConnected: boolean;
  since: string;
  seenAt: string;
  /** How long ago it was seen. */
  silentMs: number;
}

/** The machines that share the store. All instants come from the store's clock. */
export interface MachinesTable {
  /** By id, so the oldest first. Without those that were removed. */
  list(): Promise<MachineRecord[]>;
  /** Null for a machine that was removed, too. */
  find(id: MachineId): Promise<MachineRecord | null>;
  /**
   * Whether somebody declared the machine lost, and it has not kept the work of its former stages since (`savedOrphanedWork`). True of
   * one that was removed after that, too.
   */
  wasLost(id: MachineId): Promise<boolean>;
  /** Inserts the machine, or begins its next epoch, with a lease of this length. Returns the epoch. It is listed again if it was removed. */
  register(id: MachineId, report: MachineReport, leaseMs: number): Promise<number>;
  /** Notes that the machine, which was lost, has kept the work of its former stages, and ended their processes. */
  savedOrphanedWork(id: MachineId, epoch: number): Promise<void>;
  /** Renews the lease. False if the epoch has ended: nothing is changed then. */
  renew(lease: { id: MachineId; epoch: number; leaseMs: number }, report: MachineReport): Promise<boolean>;
  /** Ends the lease of a machine that stops in order, so that others need not wait for its end. From now on nothing there ends its sessions. */
  release(id: MachineId, epoch: number): Promise<void>;
  /** Marks every machine whose lease has run out as unreachable. Returns those that were not marked yet. */
  noteUnreachable(): Promise<MachineId[]>;
  /**
   * Declares the machine lost, which ends its epoch. False, and nothing is changed, while its lease runs, and if it is lost already.
   * @param silentMs how long it must not have been seen
   */
  declareLost(id: MachineId, silentMs?: number): Promise<boolean>;
  /** Takes a lost machine off the list, and keeps what `wasLost` and its next epoch need. False, and nothing is changed, unless it is lost. */
  remove(id: MachineId): Promise<boolean>;
}

/** A worktree that a machine had of a stage when it was declared lost, until the machine owes it nothing any more. */
export interface OrphanedWorktree {
  machineId: MachineId;
  stageId: StageId;
  stageTitle: string;
  projectId: ProjectId;
  projectName: string;
  /** Where the repository was on that machine; null if unknown. */
  repository: string | null;
  /** Its name is that of its folder; the data directory of a machine may move. */
  worktree: Worktree;
  /**
   * False if the machine was lost during the stage's first start, so that only the machine can find out whether it made one, and
   * under which name.
   */
  isRecorded: boolean;
  /** Whether the machine, back again, has kept its files on a ref. */
  isKept: boolean;
  /** Whether it is gone from that machine. Its refs are there until the stage is deleted. */
  isTaken: boolean;
  /** Why it stays there, as it was last said to people; null if nothing was. */
  told: string | null;
}

/** The worktrees of stages that were taken from lost machines. They outlive their stages. */
export interface OrphanedWorktreesTable {
  /** Those of one machine. */
  listOf(machineId: MachineId): Promise<OrphanedWorktree[]>;
  /** Inserts or replaces the worktree at this path of that machine. */
  save(orphaned: OrphanedWorktree): Promise<void>;
  remove(orphaned: Pick<OrphanedWorktree, 'machineId' | 'worktree'>): Promise<void>;
}

/** Where the repository of a project is on a machine. */
export interface ProjectLocation {
  projectId: ProjectId;
  machineId: MachineId;
  path: string;
  /** The normalised address of `origin`; null if it has none. */
  remote: string | null;
}

/** Which machine has which projects, and where. */
export interface ProjectPlacesTable {
  list(): Promise<ProjectLocation[]>;
  /**
   * Inserts or replaces the place of the project on that machine. What `removeOf` has kept of the project on machines that were
   * removed goes.
   */
  save(location: ProjectLocation): Promise<void>;
  /** Forgets the places of a machine that was removed, except for projects that are nowhere else: by these they are known. */
  removeOf(machineId: MachineId): Promise<void>;
}

/** Commands that one machine has for another one. Each is taken at most once, and never after its deadline. */
export interface MachineCommandsTable {
  /** @param limitMs how long it may be taken, by the store's clock */
  insert(command: StoredCommand, limitMs: number): Promise<void>;
  /** Whether commands wait that the machine may still take. */
  hasWaiting(machineId: MachineId): Promise<boolean>;
  /** Takes those that wait for the machine, in the order of their insertion. */
  take(machineId: MachineId): Promise<StoredCommand[]>;
  /** Takes back a command that nobody has taken. False if it was taken, or has its reply. */
  withdraw(id: string): Promise<boolean>;
  /** Stores the reply, as JSON. */
  answer(id: string, reply: string): Promise<void>;
  /** Null while it is not answered, and once it is forgotten. */
  findReply(id: string): Promise<string | null>;
  remove(id: string): Promise<void>;
  /** Forgets everything whose deadline was this long ago. */
  forget(olderThanMs: number): Promise<void>;
}

/** A command of one machine for another one, with who sent it. */
export const StoredCommand = z.object({
  id: z.string(),
  machineId: MachineId,
  type: z.string(),
  /** The fields of the command. */
  fields: z.record(z.string(), z.unknown()),
  actor: Actor,
  /** As `Authenticated` of the machine that checked the credential; null if there was none. */
  login: z
    .object({
      actor: Actor,
      loginId: z.string().nullable(),
      device: z.string().optional(),
      kind: z.enum(['page', 'token']),
    })
    .nullable(),
});
export type StoredCommand = z.infer<typeof StoredCommand>;
