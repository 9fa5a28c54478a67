import { CapabilitiesQuery } from '@callboard/contract';
import { z } from 'zod';
import { wholeNumber } from './query.ts';
import type { Relays } from './relay.ts';

const MESSAGE_BODY_LIMIT = 25 * 1024 * 1024;

const TranscriptQuery = z.strictObject({
  after: wholeNumber(0).optional(),
  before: wholeNumber(1).optional(),
  limit: wholeNumber(1, 1000).optional(),
});

/** The conversation of a stage: reading it, writing to it, and steering it. */
export const sessionRelays = {
  get_capabilities: {
    query: CapabilitiesQuery,
    summary: 'The slash commands and models that Claude Code offers',
    description:
      'As it said when it was last started: for the stage, else in its project, else anywhere, where only its own commands are told. Null before the first start.',
    problems: ['unknown_stage'],
  },
  get_session: { summary: 'The session of a stage', problems: ['unknown_stage', 'no_session'] },
  get_transcript: {
    query: TranscriptQuery,
    summary: 'What was said and done, in pages',
    description:
      'In ascending order. `after` and `before` are indexes of entries, themselves left out; without either: the newest. `total` is the index of the last entry.',
    problems: ['unknown_stage'],
  },
  get_live_text: {
    summary: 'What Claude is writing just now',
    description:
      'Each block that is not in the transcript yet, from its beginning. `text-delta` events go on with it: each says by its `offset` where it belongs.',
    problems: ['unknown_stage'],
  },
  get_drafts: { summary: 'What people have begun to write and not sent', problems: ['unknown_stage'] },
  put_draft: {
    summary: 'Keeps what a person has begun to write',
    description: '`key` is `message`, or the id of a request. A value of null removes it.',
    problems: ['unknown_stage'],
  },
  add_draft_file: {
    bodyLimit: MESSAGE_BODY_LIMIT,
    summary: 'Keeps a file for the next message',
    description:
      'The draft `files` has the list. The id is yours: the same file sent again is there once. Name it in `files` of the message.',
    problems: ['unknown_stage', 'too_many_files'],
  },
  get_draft_file: { summary: 'A file that is kept for the next message', problems: ['unknown_file'] },
  remove_draft_file: { summary: 'Takes a kept file away', problems: ['unknown_file'] },
  send_message: {
    bodyLimit: MESSAGE_BODY_LIMIT,
    summary: 'Says something to Claude',
    description:
      'While Claude works: `append` (the default) waits in the queue, `replace` takes the place of all that waits, answers with its texts and keeps it, files included, as drafts `replaced:<id>` (sent under that `messageId`, it is no longer kept), `steer` goes into the running turn, `now` interrupts it (answered when that has happened, or after two seconds as `queued`). A session that has ended is resumed, and a stage that is done is reopened (`reopened`); under alarm it waits in the queue. What was taken is never lost. The body may have 25 MiB, attachments included.',
    problems: ['unknown_stage', 'unknown_file', 'no_session', 'message_id_reused', 'claude_missing'],
  },
  interrupt: {
    summary: 'Interrupts the running turn',
    description:
      'Answered once Claude Code has confirmed it. A process that does not within five seconds is ended instead: `state` is `ended` then, and a message resumes the session. One that had died already is `not_running`, with how it ended. Messages that wait are held.',
    problems: ['unknown_stage', 'no_session', 'not_running'],
  },
  acknowledge_alarm: {
    summary: 'Acknowledges an alarm',
    description:
      'Whoever looked at what was seen lets the session go on. Answered once its process is gone and the alarm is cleared; nothing is started by it. Who acknowledged stands in the transcript.',
    problems: ['unknown_stage', 'no_session', 'no_alarm'],
  },
  acknowledge_denial: {
    summary: 'Takes note of a denial by Claude Code',
    description:
      "The last tool call of the turn was denied by Claude Code's own mode, a rule or a hook, and nobody was asked (`openDenial`). Taking note moves the stage from Needs you to Review; a message does the same. Nothing is sent to Claude.",
    problems: ['unknown_stage', 'no_session', 'no_denial'],
  },
  get_leftovers: {
    summary: 'Processes that outlived the session',
    description:
      'What commands of Claude started without the marker by which Callboard ends it, such as with `env -i`, and that still runs after the process of the session has ended. Callboard ends none of it by itself.',
    problems: ['unknown_stage'],
  },
  end_leftovers: {
    summary: 'Ends processes that outlived the session',
    description:
      'By SIGTERM, and by SIGKILL where that is not enough within five seconds. Each must be on the list as it is now, or none is ended. Answered with what still runs.',
    problems: ['unknown_stage', 'unknown_process'],
  },
  get_tasks: {
    summary: 'What runs in the background',
    description: 'Commands and subagents that Claude started beside the turn. Empty while the session has no process.',
    problems: ['unknown_stage', 'no_session'],
  },
  stop_task: {
    summary: 'Stops a background task',
    description:
      'Answered once Claude Code no longer lists it, with what still runs. Who stopped it stands in the transcript; Claude is told as well, of a subagent at once, in a turn of its own. A process that ignores SIGTERM may live for some seconds more.',
    problems: ['unknown_stage', 'no_session', 'not_running', 'unknown_task', 'refused_by_claude'],
  },
  get_task_output: {
    summary: 'What a background command has printed',
    description:
      'The last 8 KiB, as text with its escape sequences. Also of one that has ended, as long as the session has a process. There is none of subagents. A release of Claude Code that cannot tell it refuses, and the session says so in `cliGaps`.',
    problems: ['unknown_stage', 'no_session', 'not_running', 'unknown_task', 'refused_by_claude'],
  },
  get_mcp_servers: {
    summary: 'The MCP servers of a session, and their state',
    description:
      'As Claude Code says now. One that has died shows as connected until one of its tools is used. Settings, headers and addresses are not told.',
    problems: ['unknown_stage', 'no_session', 'not_running', 'refused_by_claude'],
  },
  reconnect_mcp_server: {
    summary: 'Connects an MCP server anew',
    description:
      'Answered once it is connected, with all servers; else 409 with the reason. A connected one is started anew.',
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
    summary: 'Changes the permission mode',
    description: 'Answered once Claude Code has confirmed it.',
    problems: ['unknown_stage', 'no_session', 'not_running', 'refused_by_claude'],
  },
  set_model: {
    summary: 'Changes the model, the effort, or both',
    description: 'A `model` of null is the default one. Answered once Claude Code has confirmed it.',
    problems: ['unknown_stage', 'no_session', 'not_running', 'refused_by_claude'],
  },
} satisfies Relays;

/** The answers to what Claude waits for. */
export const requestRelays = {
  approve_tool: {
    summary: 'Allows or denies what Claude asks for',
    description:
      'The first answer wins; a later one is told which. `updatedInput` replaces the whole input of the call; the rules of `updatedPermissions` are kept for the stage, or with `remember` for its project. A `deny` declines a question or a form.',
    problems: ['unknown_stage', 'unknown_request', 'already_decided', 'request_closed', 'wrong_kind', 'no_session'],
  },
  answer_question: {
    summary: 'Answers the questions of a request',
    description:
      'The keys are the texts of exactly its questions; several labels are joined by ", ". The first answer wins.',
    problems: ['unknown_stage', 'unknown_request', 'already_decided', 'request_closed', 'wrong_kind', 'no_session'],
  },
  dismiss_decision: {
    summary: 'Takes note of an answer whose fate is unknown',
    description:
      'For a decision of the delivery `unknown`: its process ended before it confirmed. Nothing is sent; the stage no longer needs a person for it. The same once more changes nothing.',
    problems: ['unknown_stage', 'unknown_request', 'nothing_to_settle', 'already_settled'],
  },
  retry_decision: {
    summary: 'Tells Claude of an answer whose fate is unknown',
    description:
      'For a decision of the delivery `unknown`. A message says what was decided on which call, that it may not have arrived, and to look before doing it again; an ended session is resumed for it. It takes `message` its way: `status` says how. Nothing is allowed by it: a tool asks again.',
    problems: ['unknown_stage', 'unknown_request', 'nothing_to_settle', 'already_settled', 'already_done'],
  },
} satisfies Relays;
