import { Actor, MachineId } from '@callboard/contract';
import { z } from 'zod';

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
