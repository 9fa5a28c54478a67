import { randomUUID } from 'node:crypto';
import { z } from 'zod';

/** A line between a host and the CLI, with the fields that lies change. */
export const Line = z.looseObject({
  type: z.string().optional(),
  subtype: z.string().optional(),
  uuid: z.string().optional(),
  permissionMode: z.string().optional(),
  request_id: z.string().optional(),
  request: z.looseObject({ subtype: z.string(), tool_name: z.string().optional() }).optional(),
  response: z
    .looseObject({ request_id: z.string(), response: z.looseObject({ behavior: z.string().optional() }).optional() })
    .optional(),
});
export type Line = z.infer<typeof Line>;

/** A way of a CLI to break promises. */
interface Lie {
  /** The promises that the handshake finds broken, or cannot try any more. */
  breaks: Readonly<Record<string, 'no' | 'untried'>>;
  /** Why, of the first of them. */
  why?: RegExp;
  /** Changes a line to the CLI; null drops it. */
  distort?: (line: Line) => Line | null;
  /** Changes a line to the host; null drops it. */
  garble?: (line: Line) => Line | null;
  /** Options of the CLI. */
  options?: readonly string[];
}

/** The answer to a request for permission, in a line to the CLI. */
const answerIn = ({ response }: Line) => response?.response;

let reads = 0;

/** The first few tell of all; `npm run test:all` tries every one. */
export const LIES: Readonly<Record<string, Lie>> = {
  'shouts reasons': {
    breaks: { 'deny-reason': 'no' },
    why: /NOT LIKE THIS/,
    distort: (line) => {
      const answer = answerIn(line);
      if (typeof answer?.message === 'string') answer.message = answer.message.toUpperCase();
      return line;
    },
  },
  'echoes nothing': {
    breaks: { echo: 'no' },
    garble: (line) => (answerIn(line)?.behavior === undefined ? line : null),
  },
  'withdraws nothing': {
    breaks: { cancel: 'no' },
    why: /^timed out waiting for the withdrawal of its request$/,
    garble: (line) => (line.type === 'control_cancel_request' ? null : line),
  },
  'accepts repeated messages': {
    breaks: { repeat: 'no', replay: 'untried', written: 'no' },
    distort: (line) => (line.type === 'user' ? { ...line, uuid: randomUUID() } : line),
  },
  'runs text as commands': {
    breaks: { text: 'no' },
    why: /^it ran \/clear as a command$/,
    distort: (line) => {
      if (line.type === 'user') delete line.client_composed;
      return line;
    },
  },
  'does not end': {
    breaks: { end: 'no' },
    distort: (line) => (line.request?.subtype === 'end_session' ? null : line),
  },
  'forgets what a person changed or answered': {
    breaks: { 'updated-input': 'no', question: 'no' },
    distort: (line) => {
      delete answerIn(line)?.updatedInput;
      return line;
    },
  },
  'does not say who allowed a tool': {
    breaks: { source: 'no' },
    garble: ({ tool_result_meta: _who, ...line }) => line,
  },
  'does not tell its mode': {
    breaks: { mode: 'no' },
    garble: (line) => (line.subtype === 'status' && line.permissionMode !== undefined ? null : line),
  },
  'lists no open request': {
    breaks: { pending: 'no' },
    garble: (line) => {
      const { response } = line;
      if (response !== undefined && 'pending_permission_requests' in response)
        response.pending_permission_requests = [];
      return line;
    },
  },
  'asks for one of two parallel tools': {
    breaks: { parallel: 'no' },
    garble: (line) => (line.request?.tool_name === 'Read' && ++reads === 2 ? null : line),
  },
  'leaves CLAUDE.md and hooks out': {
    breaks: { 'claude-md': 'no', settings: 'no' },
    options: ['--bare'],
  },
};
