import { z } from 'zod';
import { CheckRun, PhaseRun } from './checks.ts';
import type { CommandDefinitions, DocsOf } from './command.ts';
import * as the from './examples.ts';
import { StageId } from './ids.ts';
import { StageView } from './stages.ts';

const onStage = { stageId: StageId };

/** The commands about phases and their checks. */
export const checkCommands = {
  /** Lists the runs of the stage's checks, newest first. */
  get_checks: {
    route: 'GET /api/stages/:stageId/checks',
    runs: 'store',
    time: 'read',
    input: z.object(onStage),
    reply: z.object({ checks: z.array(CheckRun) }),
  },
  /** Lists the phases that have begun, oldest first, with what was sent to Claude and what it said last. */
  get_phases: {
    route: 'GET /api/stages/:stageId/phases',
    runs: 'store',
    time: 'read',
    input: z.object(onStage),
    reply: z.object({ phases: z.array(PhaseRun) }),
  },
  /** Runs the check of the current phase again. */
  run_check: {
    route: 'POST /api/stages/:stageId/checks/run',
    runs: 'owner',
    input: z.object(onStage),
    reply: z.object({ stage: StageView }),
    status: 202,
  },
  /** Stops the check that runs. A person decides then. */
  stop_check: {
    route: 'POST /api/stages/:stageId/checks/stop',
    runs: 'owner',
    input: z.object(onStage),
    reply: z.object({ stage: StageView }),
    status: 202,
  },
  /** Sends the failure of the newest check to Claude, whatever its number of attempts. */
  send_check: {
    route: 'POST /api/stages/:stageId/checks/send',
    runs: 'owner',
    time: 'slow',
    input: z.object(onStage),
    reply: z.object({ stage: StageView }),
    status: 202,
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const checkDocs = (): DocsOf<typeof checkCommands> => {
  const { stage } = the;
  const onStage = { stageId: stage.id };

  return {
    get_checks: {
      tag: 'stages',
      summary: "List the runs of a stage's checks",
      description:
        'Newest first. The output of a run is that of its command: `GET /api/stages/:stageId/commands/:commandId/output`. `failures` are those before it: with `attempts` of them a person decides, before that each goes back to Claude as a message (`messageId`).',
      problems: ['unknown_stage'],
      example: { input: onStage, reply: { checks: [the.check] } },
    },
    get_phases: {
      tag: 'stages',
      summary: "List the phases of a stage's pipeline that have begun",
      description: 'Oldest first, with the prompt as it was sent to Claude, and the last words of Claude in it.',
      problems: ['unknown_stage'],
      example: { input: onStage, reply: { phases: [the.phase] } },
    },
    run_check: {
      tag: 'stages',
      summary: "Run the current phase's check again",
      description: 'What follows from its result is the same as after a turn of Claude.',
      problems: [
        'unknown_stage',
        'no_session',
        'session_alarm',
        'no_check',
        'already_running',
        'background_work',
        'already_done',
      ],
      example: { input: onStage, reply: { stage } },
    },
    stop_check: {
      tag: 'stages',
      summary: 'Stop the check that runs',
      description: 'The stage then needs a person: run it again, write to Claude, or advance.',
      problems: ['unknown_stage', 'no_session', 'no_check'],
      example: { input: onStage, reply: { stage } },
    },
    send_check: {
      tag: 'stages',
      summary: 'Send the failure of the newest check to Claude once more',
      description: 'After its turn the check runs again; if it fails, a person decides again.',
      problems: [
        'unknown_stage',
        'no_session',
        'session_alarm',
        'no_check',
        'already_running',
        'background_work',
        'disk_low',
      ],
      example: { input: onStage, reply: { stage } },
    },
  };
};
