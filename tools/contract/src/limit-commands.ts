import { z } from 'zod';
import type { CommandDefinitions, DocsOf } from './command.ts';
import * as the from './examples.ts';
import { StageId } from './ids.ts';
import { LIMIT_DEFAULTS, LimitSettingsPatch, LimitsView, ResumeBody } from './limits.ts';
import { SessionSummary } from './sessions.ts';

/** Usage limits of the account, and stages that wait for one. */
export const limitCommands = {
  get_limits: { route: 'GET /api/limits', runs: 'store', time: 'read', input: z.object({}), reply: LimitsView },
  /** Changes what happens at a limit, also for stages that wait already. */
  update_limits: { route: 'PATCH /api/limits', runs: 'store', input: LimitSettingsPatch, reply: LimitsView },
  /** Decides when a stage that stopped at a limit goes on. */
  go_on: {
    route: 'POST /api/sessions/:stageId/go-on',
    runs: 'owner',
    time: 'slow',
    input: ResumeBody.extend({ stageId: StageId }),
    reply: z.object({ session: SessionSummary }),
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const limitDocs = (): DocsOf<typeof limitCommands> => {
  const limits: LimitsView = {
    limits: {
      status: 'near',
      window: 'five_hour',
      resetsAt: '2026-01-02T18:41:00.000Z',
      isUsingOverage: false,
      windows: [
        { name: 'five_hour', utilization: 0.93, status: 'near', resetsAt: '2026-01-02T18:41:00.000Z' },
        { name: 'seven_day', utilization: 0.41, status: 'allowed', resetsAt: '2026-01-06T09:00:00.000Z' },
      ],
      at: '2026-01-02T16:20:00.000Z',
    },
    settings: LIMIT_DEFAULTS,
  };

  return {
    get_limits: {
      tag: 'board',
      summary: 'Get the usage limits of the Claude account',
      description:
        'As a session last reported them, with what Callboard does at one. `limits` is null with an API key, which has none, and until a session has reported some. A window counts until its `resetsAt`.',
      example: { input: {}, reply: limits },
    },
    update_limits: {
      tag: 'board',
      summary: 'Change what happens at a usage limit',
      description: 'Holds for stages that wait already, unless a stage says otherwise (`goesOnAtReset`).',
      example: {
        input: { holdStartsAt: 0.8 },
        reply: { ...limits, settings: { ...limits.settings, holdStartsAt: 0.8 } },
      },
    },
    go_on: {
      tag: 'sessions',
      summary: 'Decide when a stage that stopped at a usage limit goes on',
      description:
        '`now` tells Claude to continue at once, whether or not the limit has reset. `at-reset` lets the stage go on by itself; `never` keeps it for a person.',
      problems: [
        ...(['unknown_stage', 'no_session', 'not_at_limit', 'reset_unknown', 'already_done'] as const),
        ...(['session_alarm', 'in_terminal', 'cannot_go_back', 'disk_low'] as const),
      ],
      example: {
        input: { stageId: the.stage.id, when: 'at-reset' as const },
        reply: { session: SessionSummary.parse(the.session) },
      },
    },
  };
};
