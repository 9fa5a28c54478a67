import type { Relays } from './relay.ts';

/** What people keep on hold. */
export const holdRelays = {
  get_holds: {
    summary: 'List what is on hold',
    description:
      'Projects, or everything (`scope` is `{}`), with what was released since (`except`). A stage that is held itself says so: `held` and `heldBy`.',
  },
  put_hold: {
    summary: 'Put stages, a project or everything on hold, or release them',
    description:
      'What is on hold does nothing by itself: it does not start, go on after a usage limit, get queued messages, begin its next phase, check or review, or get merged. A running turn finishes, or is interrupted with `interrupt`. What is released goes on exactly once where it was, also after a restart. The newest order counts: a stage can be released from a hold of everything, and releasing everything leaves stages and projects on hold that were held by name. A start by a person, a message sent `now`, and other orders to go on release their stage.',
    problems: ['unknown_stage', 'unknown_project'],
  },
} satisfies Relays;
