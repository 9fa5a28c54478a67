import { z } from 'zod';
import { ForkBody, RewindBody, RewindPlan } from './going-back.ts';
import { StageId } from './ids.ts';
import { SessionSummary } from './sessions.ts';
import { StageView } from './stages.ts';

const onStage = { stageId: StageId };

/** Going back to an earlier message, and branching off there. */
export const goingBackCommands = {
  /** Sets files, conversation or both back to before a message. What was is kept, and can be had again. */
  rewind_session: {
    time: 'slow',
    input: RewindBody.extend(onStage),
    reply: z.object({ plan: RewindPlan, session: SessionSummary }),
  },
  /** Takes the newest going back back, until the next message. */
  undo_rewind: { time: 'slow', input: z.object(onStage), reply: z.object({ session: SessionSummary }) },
  /** Makes a stage with the conversation and the files of that moment. The original is not touched. */
  fork_stage: { time: 'slow', input: ForkBody.extend(onStage), reply: z.object({ stage: StageView }) },
} as const;
