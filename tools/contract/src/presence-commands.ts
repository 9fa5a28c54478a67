import { z } from 'zod';
import type { CommandDefinitions, DocsOf } from './command.ts';
import * as the from './examples.ts';
import { StageId } from './ids.ts';
import { Viewing } from './people.ts';

/** The commands about who looks at what. */
export const presenceCommands = {
  /** Tells what the person looks at in one tab, for the next minute; null: nothing any more. */
  tell_looking: {
    route: 'PUT /api/me/looking',
    runs: 'everywhere',
    input: z.object({ tabId: z.uuid(), at: Viewing.nullable() }),
    reply: z.object({}),
  },
  /** Whether the person who asks looks at this stage, in any tab of any device. */
  get_looking: {
    route: 'GET /api/me/looking',
    runs: 'here',
    time: 'read',
    input: z.object({ stageId: StageId }),
    reply: z.object({ isLooking: z.boolean() }),
    query: z.object({ stageId: StageId }),
  },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const lookingDocs = (): DocsOf<typeof presenceCommands> => {
  const onStage = { stageId: the.stage.id };

  return {
    tell_looking: {
      tag: 'requests',
      summary: 'Tell what you look at',
      description:
        'For one tab, and for the next minute: `everything`, a stage, or null. Nobody is notified of a stage that they look at.',
      example: { input: { tabId: 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa', at: the.stage.id }, reply: {} },
    },
    get_looking: {
      tag: 'requests',
      summary: 'Ask whether you look at a stage',
      description: 'In any tab of any of your devices.',
      example: { input: onStage, reply: { isLooking: true } },
    },
  };
};
