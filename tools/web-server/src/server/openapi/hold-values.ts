import * as the from './example-values.ts';

const all = { scope: {}, by: 'Ada', at: '2026-01-02T14:02:00.000Z', except: [] };

/** Example calls of the commands about holds. */
export const holdExamples = {
  get_holds: { input: {}, reply: { holds: [{ ...all, except: [{ stageId: the.stage.id }] }] } },
  put_hold: { input: { scope: {}, held: true, interrupt: true }, reply: { holds: [all] } },
};
