import { z } from 'zod';
import { ProjectId } from './ids.ts';

/** Identifies a machine (UUID v7); its data directory keeps it. */
export const MachineId = z.uuid().brand<'MachineId'>();
export type MachineId = z.infer<typeof MachineId>;

/**
 * `connected`: it renews its lease. `unreachable`: its lease has run out; its sessions may go on, and nobody else starts its stages.
 * `lost`: a person or the rule of a project declared it lost; its stages can be started on other machines.
 */
export const MachineState = z.enum(['connected', 'unreachable', 'lost']);
export type MachineState = z.infer<typeof MachineState>;

/** One orchestrator with its data directory. Several share one store on PostgreSQL. */
export const Machine = z.object({
  id: MachineId,
  name: z.string(),
  state: MachineState,
  /** Since when it is in this state. Of an unreachable machine: when it was last heard of. */
  since: z.iso.datetime(),
  /** When it last renewed its lease. */
  seenAt: z.iso.datetime(),
  /** The version of Callboard. */
  version: z.string(),
  /** The version of Claude Code; null until it is known. */
  claudeVersion: z.string().nullable(),
  /** The load average of the last minute. */
  load: z.number().nonnegative(),
  /** The memory that is free, and all of it. */
  freeMemoryBytes: z.int().nonnegative(),
  memoryBytes: z.int().nonnegative(),
  /** How many sessions have a process there. */
  sessions: z.int().nonnegative(),
  /** How many sessions may work there at once, and how many more may start now. */
  slots: z.int().nonnegative(),
  freeSlots: z.int().nonnegative(),
  /** It ends its sessions when it has not reached the store for this long, as long as Callboard runs there; null: never. */
  endsSessionsAfterMs: z.int().positive().nullable().default(null),
  /** The projects whose repository it has. */
  projects: z.array(ProjectId),
});
export type Machine = z.infer<typeof Machine>;

/** A machine's name or id. */
export const MachinePin = z.string().trim().min(1, 'is empty').max(100, 'is longer than 100 characters');

/** Whether a pin, a name or an id, means this machine. A name counts in whatever case. */
export const isPinnedTo = (pin: string, { id, name }: Pick<Machine, 'id' | 'name'>): boolean =>
  pin === id || pin.toLowerCase() === name.toLowerCase();
