import type { Relays } from './relay.ts';

/** The queued messages of a stage. */
export const queueRelays = {
  get_queue: {
    summary: 'List queued messages',
    description: '`held`: after a failed or interrupted turn, they wait for a person.',
    problems: ['unknown_stage', 'no_session'],
  },
  release_queue: {
    summary: 'Release a held queue',
    description: 'After a failed or interrupted turn, queued messages are held until they are released.',
    problems: ['unknown_stage', 'no_session', 'session_alarm'],
  },
  edit_queued: {
    summary: 'Change the text or the place of a queued message',
    description: 'Place 0 is sent next.',
    problems: ['unknown_stage', 'no_session', 'unknown_message', 'already_sent'],
  },
  send_queued: {
    summary: 'Send a queued message',
    description: '`steer` writes it into the running turn; `now` interrupts the turn and sends it at once.',
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
    summary: 'Remove a queued message',
    description: 'Returns the removed message.',
    problems: ['unknown_stage', 'no_session', 'unknown_message', 'already_sent'],
  },
} satisfies Relays;
