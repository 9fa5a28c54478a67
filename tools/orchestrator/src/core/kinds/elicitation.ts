import type { ApproveBody, PendingRequest, ToolInput } from '@callboard/contract';
import { z } from 'zod';
import { Rejection } from '../../lib/errors.ts';
import { ownProperty } from '../../lib/text.ts';
import { type Ask, oneLine, textField } from '../agent-event.ts';
import {
  type Answer,
  type ControlRequest,
  inputBlock,
  plainDenial,
  type RequestKindDefinition,
  saveGranted,
} from './shared/definition.ts';

/** A form that an MCP server asks a person to fill in. */
export const elicitation: RequestKindDefinition = {
  recognise: { by: 'subtype', subtype: 'elicitation', read },
  eventMeaning: 'An MCP server asks for something and waits for a form to be filled in',
  /** The CLI lists tool calls only. A form stays open until the CLI withdraws it. */
  isListedOnInitialize: false,
  isAskedByCommand: false,
  describe: ({ displayName, input }) => oneLine(`${displayName}: ${textField(input, 'message')}`),
  allow: acceptForm,
  answer: null,
  saves: saveGranted,
  denialMessage: plainDenial,
  decline: (_message, more) => ({ action: more?.cancel === true ? 'cancel' : 'decline' }),
  retry: {
    call: ({ displayName }) => `a form of the tool server ${displayName}`,
    allowed: ({ input }) => `It was allowed, with this input:\n${inputBlock(input)}`,
    denied: () => 'It was declined.',
    next: 'Check first whether the form arrived. If it did not and is still needed, make the call that led to it again.',
  },
};

/** `requested_schema` is the JSON Schema of a flat form. */
const Elicitation = z.looseObject({ mcp_server_name: z.string(), message: z.string() });

function read(request: ControlRequest): Ask | null {
  const { data } = Elicitation.safeParse(request);
  if (data === undefined) return null;
  const { subtype: _subtype, ...input } = data;
  return {
    toolName: 'elicitation',
    displayName: input.mcp_server_name,
    input,
    description: input.message,
    toolUseId: '',
    agentId: null,
    reason: null,
    blockedPath: null,
    suggestions: [],
    suppressAlwaysAllow: true,
    leavesSandbox: null,
  };
}

function acceptForm({ input }: PendingRequest, { updatedInput = {} }: ApproveBody): Answer {
  const problem = formContentProblem(input.requested_schema, updatedInput);
  if (problem !== null) throw new Rejection('bad_request', problem);
  return {
    verdict: { outcome: 'answered', reason: null, answers: null, updatedInput },
    response: { action: 'accept', content: updatedInput },
  };
}

/** The flat forms that MCP elicitation allows: one level of strings, numbers, booleans and choices. */
const FormSchema = z.looseObject({
  properties: z.record(
    z.string(),
    z.looseObject({ type: z.string().optional(), enum: z.array(z.unknown()).optional() }),
  ),
  required: z.array(z.string()).optional(),
});

/** Returns the problem with a form's content as a sentence; null if there is none, or if the form cannot be read. */
export function formContentProblem(requestedSchema: unknown, content: ToolInput): string | null {
  const form = FormSchema.safeParse(requestedSchema);
  if (!form.success) return null; // unreadable form: the MCP server validates the content
  const { properties, required = [] } = form.data;
  const missing = required.find((name) => ownProperty(content, name) === undefined || content[name] === '');
  if (missing !== undefined) return `"${missing}" is required.`;
  for (const [name, value] of Object.entries(content)) {
    const property = ownProperty(properties, name);
    if (property === undefined) return `"${name}" is not a field of this form.`;
    if (!fits(property, value)) return `"${name}" must be ${typeText(property)}.`;
  }
  return null;
}

type Property = z.infer<typeof FormSchema>['properties'][string];

function fits({ type, enum: choices }: Property, value: unknown): boolean {
  if (choices !== undefined) return choices.includes(value);
  switch (type) {
    case 'string':
      return typeof value === 'string';
    case 'number':
      return typeof value === 'number' && Number.isFinite(value);
    case 'integer':
      return Number.isInteger(value);
    case 'boolean':
      return typeof value === 'boolean';
    default:
      return true;
  }
}

function typeText({ type, enum: choices }: Property): string {
  if (choices !== undefined) return `one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`;
  return type === 'integer' ? 'a whole number' : `a ${type ?? 'value'}`;
}
