import { z } from 'zod';
import { CheckRun, PhaseRun } from './checks.ts';
import { StageId } from './ids.ts';
import { StageView } from './stages.ts';

const onStage = { stageId: StageId };

/** The commands about phases and their checks. */
export const checkCommands = {
  /** Lists the runs of the stage's checks, newest first. */
  get_checks: { time: 'read', input: z.object(onStage), reply: z.object({ checks: z.array(CheckRun) }) },
  /** Lists the phases that have begun, oldest first, with what was sent to Claude and what it said last. */
  get_phases: { time: 'read', input: z.object(onStage), reply: z.object({ phases: z.array(PhaseRun) }) },
  /** Runs the check of the current phase again. */
  run_check: { input: z.object(onStage), reply: z.object({ stage: StageView }) },
  /** Stops the check that runs. A person decides then. */
  stop_check: { input: z.object(onStage), reply: z.object({ stage: StageView }) },
  /** Sends the failure of the newest check to Claude, whatever its number of attempts. */
  send_check: { time: 'slow', input: z.object(onStage), reply: z.object({ stage: StageView }) },
} as const;
