import {
  type CommandError,
  type CommandType,
  type Credential,
  commands,
  type MachineId,
  ProjectId,
  REPLY_LIMITS_MS,
  StageId,
} from '@callboard/contract';
import { z } from 'zod';
import type { CommandContext } from '../core/commands/command-handler.ts';
import { Rejection } from '../lib/errors.ts';
import type { StoredCommand } from '../store/ports/machine-port.ts';

/** Knows where stages and projects are. */
export interface CommandTargets {
  readonly here: MachineId;
  nameOf(id: MachineId): Promise<string>;
  /** The machine that has the stage, or can have it. @throws Rejection `unknown_stage`; OperationalError `no_machine` */
  ofStage(stageId: StageId, isStart: boolean): Promise<MachineId>;
  /** A machine that has the repository. @throws Rejection `unknown_project`; OperationalError `no_machine` */
  ofProject(projectId: ProjectId): Promise<MachineId>;
}

type RelayedCommand = Pick<StoredCommand, 'machineId' | 'type' | 'fields' | 'actor' | 'login'>;

/** Has commands executed by other machines; `Relay` in `features/machines` is one, and says what it promises. */
export interface CommandRelay {
  send(command: RelayedCommand, limitMs: number): Promise<string>;
  relayToOthers(command: Omit<RelayedCommand, 'machineId'>): Promise<void>;
}

export interface CommandRouter {
  /** Reads a login that another machine may have made. */
  knowLogin(credential: Credential): Promise<void>;
  /** Executes the command where it belongs. Null: it belongs here. @throws what the other machine replied */
  route(type: CommandType, fields: Record<string, unknown>, context: CommandContext): Promise<{ data: unknown } | null>;
}

/** The web server gives up at the limit; the machine's answer should be there before. */
const MARGIN_MS = 1_000;

export function createCommandRouter(
  targets: CommandTargets,
  relay: CommandRelay,
  knowLogin: CommandRouter['knowLogin'],
): CommandRouter {
  async function targetOf(type: CommandType, fields: Record<string, unknown>): Promise<MachineId> {
    const place = commands[type].runs;
    switch (place) {
      case 'store':
      case 'here':
      case 'everywhere':
        return targets.here;
      case 'project': {
        const stageId = StageId.safeParse(fields.stageId);
        if (stageId.success) return targets.ofStage(stageId.data, false);
        const projectId = ProjectId.safeParse(fields.projectId);
        return projectId.success ? targets.ofProject(projectId.data) : targets.here; // the handler refuses it
      }
      case 'owner':
      case 'start':
      case 'not-relayed': {
        const stageId = StageId.safeParse(fields.stageId);
        return stageId.success ? targets.ofStage(stageId.data, place === 'start') : targets.here;
      }
      default:
        return place satisfies never;
    }
  }

  return {
    knowLogin,
    async route(type, fields, { actor, login }) {
      const command = { type, fields, actor, login };
      if (commands[type].runs === 'everywhere') await relay.relayToOthers(command);
      const machineId = await targetOf(type, fields);
      if (machineId === targets.here) return null;
      if (commands[type].runs === 'not-relayed') {
        const name = await targets.nameOf(machineId);
        throw new Rejection('not_this_machine', `This stage is on ${name}. Do this in a browser on that machine.`);
      }
      const limitMs = limitOf(commands[type]) - MARGIN_MS;
      const reply = Reply.parse(JSON.parse(await relay.send({ ...command, machineId }, limitMs)));
      if (reply.ok) return { data: reply.data };
      throw new RelayedError(reply.error as CommandError); // the other machine made it
    },
  };
}

const limitOf = (command: (typeof commands)[CommandType]): number =>
  REPLY_LIMITS_MS['time' in command ? command.time : 'normal'];

const Reply = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), data: z.unknown() }),
  z.object({ ok: z.literal(false), error: z.looseObject({ code: z.string(), message: z.string() }) }),
]);

/** The refusal of another machine, as it said it. */
export class RelayedError extends Error {
  readonly told: CommandError;
  constructor(reported: CommandError) {
    super(reported.message);
    this.told = reported;
  }
}

/** A command of another machine, as its credential was checked there. */
export type ForeignCommand = Pick<StoredCommand, 'type' | 'fields' | 'actor' | 'login'>;
