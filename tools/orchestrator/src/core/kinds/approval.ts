import type { ApproveBody, PendingRequest, ToolInput } from '@callboard/contract';
import { z } from 'zod';
import { Rejection } from '../../lib/errors.ts';
import { ownProperty } from '../../lib/text.ts';
import { describeTool } from '../agent-event.ts';
import {
  type Answer,
  allowCall,
  declineCall,
  inputBlock,
  plainDenial,
  type RequestKindDefinition,
  savableRules,
  saveGranted,
} from './shared/definition.ts';

/** A tool call that a person allows or denies. Covers every tool without its own kind. */
export const approval: RequestKindDefinition = {
  recognise: { by: 'no-other-kind' },
  eventMeaning: 'Claude wants to use a tool and waits to be allowed',
  isListedOnInitialize: true,
  isAskedByCommand: false,
  describe: ({ toolName, input }, worktree) => describeTool(toolName, input, worktree),
  allow: allowTool,
  answer: null,
  saves: saveGranted,
  denialMessage: plainDenial,
  decline: declineCall,
  retry: {
    call: ({ toolName }) => `your call of the tool ${toolName}`,
    allowed: ({ input }, updatedInput) =>
      updatedInput === null
        ? `It was allowed, with this input:\n${inputBlock(input)}`
        : `It was allowed, with its input changed by the user to:\n${inputBlock(updatedInput)}`,
    denied: ({ input }) => `It was denied. Its input was:\n${inputBlock(input)}`,
    next: 'Check first whether it was done. If it was, go on. If it was not and is still needed, make the call again; permission is asked for again as usual.',
  },
};

function allowTool(request: PendingRequest, body: ApproveBody): Answer {
  const { updatedInput, updatedPermissions = [], remember } = body;
  const problem = updatedInput === undefined ? null : toolInputProblem(request.toolName, updatedInput);
  if (problem !== null) throw new Rejection('bad_request', problem);
  if (request.leavesSandbox !== null && (remember !== undefined || updatedPermissions.length > 0)) {
    const message =
      'A command that leaves the sandbox is allowed once, and nothing is kept of it. Allow it without rules.';
    throw new Rejection('bad_request', message);
  }
  if (remember !== undefined && request.suppressAlwaysAllow)
    throw new Rejection('bad_request', 'Claude Code does not want this one to be allowed for good. Allow it once.');
  if (remember !== undefined && savableRules(updatedPermissions).length === 0) {
    const message = 'There is no rule to keep: send the suggestion that is to hold in updatedPermissions.';
    throw new Rejection('bad_request', message);
  }
  return allowCall(body, body.updatedPermissions);
}

const text = z.string();

/** The input shapes of the tools whose input people change most (CLI 2.1.330). */
const SHAPES: Readonly<Record<string, z.ZodType>> = {
  Bash: z.looseObject({
    command: text.min(1),
    timeout: z.number().optional(),
    run_in_background: z.boolean().optional(),
  }),
  Write: z.looseObject({ file_path: text.min(1), content: text }),
  Edit: z.looseObject({
    file_path: text.min(1),
    old_string: text,
    new_string: text,
    replace_all: z.boolean().optional(),
  }),
  Read: z.looseObject({ file_path: text.min(1), offset: z.number().optional(), limit: z.number().optional() }),
  NotebookEdit: z.looseObject({ notebook_path: text.min(1), new_source: text }),
  WebFetch: z.looseObject({ url: z.url(), prompt: text }),
  WebSearch: z.looseObject({ query: text.min(2) }),
};

/**
 * Returns the problem with a changed input as a sentence; null if none is known. The CLI turns a wrong input into a denial that
 * looks like the person's own, so such an input is refused before it is sent. The CLI treats an empty input as "unchanged".
 */
export function toolInputProblem(toolName: string, input: ToolInput): string | null {
  if (Object.keys(input).length === 0)
    return 'The changed input is empty, which Claude Code takes for "unchanged". Leave it out to run the call as it is.';
  const parsed = ownProperty(SHAPES, toolName)?.safeParse(input);
  return parsed === undefined || parsed.success
    ? null
    : `The changed input does not fit ${toolName}:\n${z.prettifyError(parsed.error)}`;
}
