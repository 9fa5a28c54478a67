import { z } from 'zod';
import { StageId } from './ids.ts';
import { GoOnBody, LimitSettingsPatch, LimitsView } from './limits.ts';
import { SessionSummary } from './sessions.ts';

/** Usage limits of the account, and stages that wait for one. */
export const limitCommands = {
  get_limits: { time: 'read', input: z.object({}), reply: LimitsView },
  /** Changes what happens at a limit, also for stages that wait already. */
  update_limits: { input: LimitSettingsPatch, reply: LimitsView },
  /** Decides when a stage that stopped at a limit goes on. */
  go_on: { time: 'slow', input: GoOnBody.extend({ stageId: StageId }), reply: z.object({ session: SessionSummary }) },
} as const;
