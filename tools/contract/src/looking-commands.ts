import { z } from 'zod';
import { StageId } from './ids.ts';
import { LookingAt } from './people.ts';

/** The commands about who looks at what. */
export const lookingCommands = {
  /** Tells what the person looks at in one tab, for the next minute; null: nothing any more. */
  tell_looking: { input: z.object({ tabId: z.uuid(), at: LookingAt.nullable() }), reply: z.object({}) },
  /** Whether the person who asks looks at this stage, in any tab of any device. */
  get_looking: {
    time: 'read',
    input: z.object({ stageId: StageId }),
    reply: z.object({ isLooking: z.boolean() }),
  },
} as const;
