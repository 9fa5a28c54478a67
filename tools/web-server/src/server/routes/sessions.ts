import { CapabilitiesQuery, StageId } from '@callboard/contract';
import { z } from 'zod';
import { wholeNumber } from './query.ts';
import { MESSAGE_BODY_LIMIT, type Relays } from './relay.ts';

const TranscriptQuery = z.strictObject({
  after: wholeNumber(0).optional(),
  before: wholeNumber(1).optional(),
  limit: wholeNumber(1, 1000).optional(),
});

/** Reading a stage's conversation, writing to it and controlling it. */
export const sessionRelays = {
  get_capabilities: {
    query: CapabilitiesQuery,
    summary: 'List the slash commands and models that Claude Code offers',
    description:
      'As reported at the latest start: of the stage, else of its project, else of any project, in which case only the built-in commands are listed. Null before the first start.',
    problems: ['unknown_stage'],
  },
  get_session: { summary: 'Get the session of a stage', problems: ['unknown_stage', 'no_session'] },
  get_transcript: {
    query: TranscriptQuery,
    summary: 'List transcript entries, in pages',
    description:
      'In ascending order. `after` and `before` are exclusive entry indexes; without either, the newest entries are returned. `total` is the index of the last entry.',
    problems: ['unknown_stage'],
  },
  get_live_text: {
    summary: 'Get the text that Claude is writing now',
    description:
      'Every block that is not in the transcript yet, from its beginning. `text-delta` events continue it; the `offset` of each says where it belongs.',
    problems: ['unknown_stage'],
  },
  get_drafts: { summary: 'List unsent drafts', problems: ['unknown_stage'] },
  put_draft: {
    summary: 'Save a draft',
    description:
      '`key` is `message`, or the id of a request. A value of null removes it. The value of `message` is `{text, messageId}`, with the id that its message will have: the server removes the draft as it takes that message. If it has that message already, it stores nothing and returns its text (`sent`).',
    problems: ['unknown_stage'],
  },
  add_draft_file: {
    bodyLimit: MESSAGE_BODY_LIMIT,
    summary: 'Upload a file for the next message',
    description:
      'The draft `files` has the list. The client chooses the id, so that a repeated upload adds the file only once. Name the id in `files` of the message.',
    problems: ['unknown_stage', 'too_many_files', 'bad_file'],
  },
  get_draft_file: { summary: 'Get a file uploaded for the next message', problems: ['unknown_file'] },
  remove_draft_file: { summary: 'Remove an uploaded file', problems: ['unknown_file'] },
  send_message: {
    bodyLimit: MESSAGE_BODY_LIMIT,
    summary: 'Send a message',
    description:
      'While Claude works: `append` (the default) adds the message to the queue. `replace` replaces all queued messages, returns their texts and keeps them, files included, as drafts `replaced:<id>` (sending one under that `messageId` removes the draft). `steer` writes the message into the running turn. `now` interrupts the turn (the reply comes after the interruption, or after two seconds as `queued`). A message resumes a session that has ended and reopens a stage that is done (`reopened`); under alarm it waits in the queue. An accepted message is never lost. The body may have 25 MB, attachments included.',
    problems: ['unknown_stage', 'unknown_file', 'no_session', 'message_id_reused', 'claude_missing', 'bad_file'],
  },
  interrupt: {
    summary: 'Interrupt the running turn',
    description:
      'The reply comes once Claude Code has confirmed the interruption. A process that does not confirm within five seconds is ended: `state` is then `ended`, and a message resumes the session. If the process had already died, the code is `not_running`, and `detail` says how it ended. Queued messages are held.',
    problems: ['unknown_stage', 'no_session', 'not_running'],
  },
  acknowledge_alarm: {
    summary: 'Acknowledge an alarm',
    description:
      'Lets the session continue after a person has looked at the alarm. The reply comes once the process has ended and the alarm is cleared; nothing is started. The transcript records who acknowledged it.',
    problems: ['unknown_stage', 'no_session', 'no_alarm'],
  },
  acknowledge_denial: {
    summary: 'Acknowledge a denial by Claude Code',
    description:
      'Claude Code denied the last tool call of the turn because of its mode, a rule or a hook, without asking anybody (`openDenial`). The acknowledgement moves the stage from Needs you to Review; a message does the same. Nothing is sent to Claude.',
    problems: ['unknown_stage', 'no_session', 'no_denial'],
  },
  get_leftovers: {
    summary: 'List processes that outlived the session',
    description:
      'Processes that Claude’s commands started without the marker by which Callboard finds and ends them (with `env -i`, for example), and that still run after the process of the session has ended. Callboard does not end them on its own.',
    problems: ['unknown_stage'],
  },
  end_leftovers: {
    summary: 'End processes that outlived the session',
    description:
      'With SIGTERM, then SIGKILL after five seconds. All of them must be on the current list, or none is ended. Returns the processes that still run.',
    problems: ['unknown_stage', 'unknown_process'],
  },
  get_tasks: {
    summary: 'List background tasks',
    description: 'Commands and subagents that Claude runs beside the turn. Empty while the session has no process.',
    problems: ['unknown_stage', 'no_session'],
  },
  stop_task: {
    summary: 'Stop a background task',
    description:
      'The reply comes once Claude Code no longer lists the task, and has the tasks that still run. The transcript records who stopped it. Claude is told as well; for a subagent at once, in a separate turn. A process that ignores SIGTERM may live for a few more seconds.',
    problems: ['unknown_stage', 'no_session', 'not_running', 'unknown_task', 'refused_by_claude'],
  },
  mark_task: {
    summary: 'Mark a background command',
    description:
      'A stage waits for its background tasks: until they have ended, its phase goes on, and it is neither checked nor merged nor finished. With `keep-running`, nothing waits for this command; the same command is known again when Claude starts it once more in this stage. With `work`, the stage waits for it and nobody is asked about it; null takes the mark away. Subagents cannot be marked.',
    problems: ['unknown_stage', 'no_session', 'unknown_task'],
  },
  get_task_output: {
    summary: 'Get the output of a background command',
    description:
      'The last 8 kB, as text with its escape sequences; also for a command that has ended, while the session has a process. Subagents have no output. A release of Claude Code that cannot return it refuses, and `cliGaps` of the session says so.',
    problems: ['unknown_stage', 'no_session', 'not_running', 'unknown_task', 'refused_by_claude'],
  },
  get_mcp_servers: {
    summary: 'List the MCP servers of a session',
    description:
      'As Claude Code reports them now. A server that has died is shown as connected until one of its tools is used. Settings, headers and addresses are left out.',
    problems: ['unknown_stage', 'no_session', 'not_running', 'refused_by_claude'],
  },
  reconnect_mcp_server: {
    summary: 'Reconnect an MCP server',
    description:
      'The reply comes once the server is connected, and has all servers; otherwise it is 409 with the reason. A connected server is restarted.',
    problems: [
      'unknown_stage',
      'no_session',
      'not_running',
      'unknown_mcp_server',
      'mcp_not_connected',
      'refused_by_claude',
    ],
  },
  set_mode: {
    summary: 'Change the permission mode',
    description: 'The reply comes once Claude Code has confirmed it.',
    problems: ['unknown_stage', 'no_session', 'not_running', 'refused_by_claude'],
  },
  set_model: {
    summary: 'Change the model, the effort, or both',
    description: 'A `model` of null is the default. The reply comes once Claude Code has confirmed the change.',
    problems: ['unknown_stage', 'no_session', 'not_running', 'refused_by_claude'],
  },
} satisfies Relays;

/** Answering the requests that Claude waits for. */
const ANSWER_PROBLEMS = [
  'unknown_stage',
  'unknown_request',
  'already_decided',
  'request_closed',
  'answer_held',
  'wrong_kind',
  'no_session',
] as const;

export const requestRelays = {
  set_later: {
    isBodyOptional: true,
    summary: 'Set a request aside',
    description:
      'For the person who sends this, on all their devices, until the request is decided: until the instant `until`, or without one until that is taken back with `until: null`. The request stays open, in the inbox and in `get_pending`, whose `later` lists what this person set aside. It calls again at `until`, also after a restart. `stageId` is needed only if two stages have a request of that id.',
    problems: ['unknown_request'],
  },
  take_back_answer: {
    isBodyOptional: true,
    summary: 'Take back an answer that is held back',
    description:
      'An answer given with `hold`, by the person who gave it, until it is sent. The request is open then, as before; where nothing is held back, it is returned as it is. `stageId` is needed only if two stages have a request of that id.',
    problems: ['unknown_request', 'answer_held', 'already_decided', 'request_closed'],
  },
  update_me: {
    summary: 'Change your settings',
    description:
      '`presentation` is how requests present themselves to the person who sends this: `overlay`, `panel` or `quiet`. `alerts` is what is signalled to them, and how, with their quiet hours. What is left out stays. The board has the current settings as `me`.',
  },
  tell_looking: {
    summary: 'Tell what you look at',
    description:
      'For one tab, and for the next minute: `everything`, a stage, or null. Nobody is notified of a stage that they look at.',
  },
  get_looking: {
    summary: 'Ask whether you look at a stage',
    description: 'In any tab of any of your devices.',
    query: z.object({ stageId: StageId }),
  },
  approve_tool: {
    summary: 'Allow or deny a request',
    description:
      'The first answer wins; later ones are refused with the decision that stands. `updatedInput` replaces the whole input of the call. The rules of `updatedPermissions` are kept for the stage, or with `remember` for its project. `deny` declines a question or a form. With `hold`, the answer is kept back for two seconds, over restarts as well, and sent once at `heldUntil` unless it was taken back; until then every other answer is refused with `answer_held`.',
    status: 'held',
    problems: ANSWER_PROBLEMS,
  },
  answer_question: {
    summary: 'Answer the questions of a request',
    description:
      'The keys are exactly the texts of its questions; several labels are joined by ", ". The first answer wins. `hold` is as for an approval.',
    status: 'held',
    problems: ANSWER_PROBLEMS,
  },
  dismiss_decision: {
    summary: 'Dismiss an unconfirmed answer',
    description:
      'For a decision with the delivery `unknown`: the process ended before it confirmed the answer. Nothing is sent; the stage no longer needs a person because of it. A repeated call changes nothing.',
    problems: ['unknown_stage', 'unknown_request', 'nothing_to_settle', 'already_settled'],
  },
  retry_decision: {
    summary: 'Tell Claude about an unconfirmed answer',
    description:
      'For a decision with the delivery `unknown`. Sends a message that says what was decided for which call, that it may not have arrived, and to check before repeating it; resumes the session if it has ended. `status` says how the message was delivered. It allows nothing: the tool asks again.',
    problems: ['unknown_stage', 'unknown_request', 'nothing_to_settle', 'already_settled', 'already_done'],
  },
} satisfies Relays;
