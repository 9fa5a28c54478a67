import { z } from 'zod';
import type { CommandDefinitions, DocsOf } from './command.ts';
import * as the from './examples.ts';
import { Pause, PauseBody } from './pauses.ts';

const reply = z.object({ holds: z.array(Pause) });

/** Holds of projects and of everything; a single stage that is on hold says so itself. */
export const pauseCommands = {
  get_holds: { route: 'GET /api/holds', runs: 'store', time: 'read', input: z.object({}), reply },
  /** Puts stages on hold, or releases them. What waited goes on where it was, once. */
  put_hold: { route: 'PUT /api/holds', runs: 'store', time: 'slow', input: PauseBody, reply },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const holdDocs = (): DocsOf<typeof pauseCommands> => {
  const all = { scope: {}, by: 'Ada', at: '2026-01-02T14:02:00.000Z', except: [] };

  return {
    get_holds: {
      tag: 'board',
      summary: 'List what is on hold',
      description:
        'Projects, or everything (`scope` is `{}`), with what was released since (`except`). A stage that is held itself says so: `held` and `heldBy`.',
      example: { input: {}, reply: { holds: [{ ...all, except: [{ stageId: the.stage.id }] }] } },
    },
    put_hold: {
      tag: 'board',
      summary: 'Put stages, a project or everything on hold, or release them',
      description:
        'What is on hold does nothing by itself: it does not start, go on after a usage limit, get queued messages, begin its next phase, check or review, or get merged. A running turn finishes, or is interrupted with `interrupt`. What is released goes on exactly once where it was, also after a restart. The newest order counts: a stage can be released from a hold of everything, and releasing everything leaves stages and projects on hold that were held by name. A start by a person, a message sent `now`, and other orders to go on release their stage.',
      problems: ['unknown_stage', 'unknown_project'],
      example: { input: { scope: {}, held: true, interrupt: true }, reply: { holds: [all] } },
    },
  };
};
