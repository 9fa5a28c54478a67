import { type ApproveBody, hostRule, type PendingRequest, type ToolInput } from '@callboard/contract';
import { Rejection } from '../../lib/errors.ts';
import { oneLine, textField } from '../agent-event.ts';
import {
  type Answer,
  allowCall,
  declineCall,
  plainDenial,
  type RequestKindDefinition,
  type SavedRule,
} from './shared/definition.ts';

/** A sandboxed command that wants to reach a host. */
export const network: RequestKindDefinition = {
  /** Not a tool of the model: the CLI asks under this name on behalf of the sandbox. */
  recognise: { by: 'tool', toolName: 'SandboxNetworkAccess' },
  eventMeaning: 'A command in the sandbox wants to reach a host and waits to be allowed',
  isListedOnInitialize: true,
  isAskedByCommand: true,
  describe: ({ input }) => oneLine(`Network ${textField(input, 'host')}`),
  allow: allowHost,
  answer: null,
  saves: savedHost,
  denialMessage: plainDenial,
  decline: declineCall,
  retry: {
    call: ({ input }) => `a command's request to reach ${String(input.host)}`,
    allowed: () => 'It was allowed.',
    denied: () => 'It was denied.',
    next: 'Check first whether the command got what it wanted. If it did not and it is still needed, run it again; permission is asked for again as usual.',
  },
};

/**
 * A bare allow opens the host for the lifetime of the process. The rule that the CLI suggests is not used, as it would also let
 * WebFetch read the host.
 */
function allowHost(
  { input }: PendingRequest,
  { updatedInput, updatedPermissions = [], remember }: ApproveBody,
): Answer {
  if (updatedInput !== undefined || updatedPermissions.length > 0) {
    const message =
      'A network request is allowed as it is. Send remember ("stage" or "project") to keep its host, and leave updatedInput and updatedPermissions out.';
    throw new Rejection('bad_request', message);
  }
  if (remember !== undefined && hostRuleOf(input) === null) {
    const message =
      'This host is never kept: it is this machine, or may stand for others too. Allow it without remember.';
    throw new Rejection('bad_request', message);
  }
  return allowCall({}, undefined);
}

function savedHost({ input }: PendingRequest, { remember }: ApproveBody): SavedRule[] {
  const rule = remember === undefined ? null : hostRuleOf(input);
  return rule === null ? [] : [{ kind: 'host', rule }];
}

const hostRuleOf = ({ host }: ToolInput): string | null => (typeof host === 'string' ? hostRule(host) : null);
