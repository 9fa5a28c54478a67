import type { Relays } from './relay.ts';

/** The messages of a stage that wait for their moment. */
export const queueRelays = {
  get_queue: {
    summary: 'The messages that wait',
    description: '`held`: after a failed or interrupted turn they wait for a person.',
    problems: ['unknown_stage', 'no_session'],
  },
  release_queue: {
    summary: 'Lets a held queue go',
    description: 'After a failed or interrupted turn the messages that wait are held for this.',
    problems: ['unknown_stage', 'no_session', 'session_alarm'],
  },
  edit_queued: {
    summary: 'Changes the text or the place of a message that waits',
    description: 'Place 0 is the next to go.',
    problems: ['unknown_stage', 'no_session', 'unknown_message', 'already_sent'],
  },
  send_queued: {
    summary: 'Sends a message that waits',
    description: '`steer`: into the running turn. `now`: at once, by interrupting it.',
    problems: [
      'unknown_stage',
      'no_session',
      'session_alarm',
      'unknown_message',
      'already_sent',
      'not_running',
      'refused_by_claude',
    ],
  },
  remove_queued: {
    summary: 'Removes a message that waits',
    description: 'Answers with what was removed.',
    problems: ['unknown_stage', 'no_session', 'unknown_message', 'already_sent'],
  },
} satisfies Relays;
