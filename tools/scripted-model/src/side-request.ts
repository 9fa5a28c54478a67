import { type MessagesRequest, textsOf } from './messages-request.ts';
import type { Step } from './script.ts';

/** How the CLI's side requests begin. Each follows a copy of the history, or quotes it. */
const SUMMARY = /^CRITICAL: Respond with TEXT ONLY/;
const OPENINGS: readonly RegExp[] = [
  SUMMARY,
  /^<system-reminder>This is a side question from the user/,
  /^\s*Web page content:/,
  /most recent action in 3-5 words/,
  /^\[SUGGESTION MODE/,
];

/**
 * Whether a request is not part of the conversation: a title, a summary, a side question. It may quote the prompt, marker included, so
 * the marker must not be followed: a title would wait for a gate, a summary would take the words of a step.
 */
export function isSideRequest(request: MessagesRequest): boolean {
  if (request.output_config?.format && (request.tools ?? []).length === 0) return true;
  return OPENINGS.some((opening) => asks(request, opening));
}

/** A short harmless text, or the smallest valid object if the request demands an object. */
export function sideReply(request: MessagesRequest): Step {
  const format = request.output_config?.format;
  if (format) return { text: JSON.stringify(sample(format.schema)) };
  return { text: asks(request, SUMMARY) ? '<analysis>-</analysis>\n<summary>Work so far.</summary>' : 'OK.' };
}

function asks(request: MessagesRequest, opening: RegExp): boolean {
  const last = request.messages.findLast((message) => message.role === 'user');
  return textsOf(last?.content).some((text) => opening.test(text));
}

/** The smallest value that is valid for a simple JSON schema. */
export function sample(schema: unknown): unknown {
  if (!isRecord(schema)) return null;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if ('const' in schema) return schema.const;
  switch (schema.type) {
    case 'object':
      return sampleObject(schema);
    case 'array':
      return [];
    case 'string':
      return 'OK';
    case 'number':
    case 'integer':
      return 0;
    case 'boolean':
      return false;
    default:
      return null;
  }
}

function sampleObject(schema: Record<string, unknown>): Record<string, unknown> {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  return Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, sample(value)]));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
