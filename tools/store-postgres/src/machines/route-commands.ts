import {
  type CommandError,
  type CommandType,
  commands,
  type MachineId,
  ProjectId,
  REPLY_LIMITS_MS,
  StageId,
} from '@callboard/contract';
import { type CommandRouter, RelayedError } from '@callboard/orchestrator/machines';
import { Rejection } from '@callboard/orchestrator/store';
import { z } from 'zod';
import type { Relay } from './relay.ts';

/** Knows where stages and projects are. */
export interface CommandTargets {
  readonly here: MachineId;
  nameOf(id: MachineId): Promise<string>;
  /** The machine that has the stage, or can have it. @throws Rejection `unknown_stage`; OperationalError `no_machine` */
  ofStage(stageId: StageId, isStart: boolean): Promise<MachineId>;
  /** A machine that has the repository. @throws Rejection `unknown_project`; OperationalError `no_machine` */
  ofProject(projectId: ProjectId): Promise<MachineId>;
}

/** The web server gives up at the limit; the machine's answer should be there before. */
const MARGIN_MS = 1_000;

export function createCommandRouter(
  targets: CommandTargets,
  relay: Relay,
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
