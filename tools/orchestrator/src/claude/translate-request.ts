import { RequestKind } from '@callboard/contract';
import type { AgentEvent, Ask } from '../agent/agent-event.ts';
import { requestKinds } from '../kinds/registry.ts';
import type { ControlRequest } from '../kinds/shared/definition.ts';
import * as control from './wire/control.ts';
import type { Frame } from './wire/frames.ts';

/** What a control request of the CLI means. */
export function translateRequest({ requestId, request }: Extract<Frame, { kind: 'request' }>): AgentEvent {
  const recognised = recognise(request);
  // A malformed permission request that is merely ignored would leave the agent waiting for ever.
  return recognised === null
    ? { type: 'asked-unknown', requestId, subtype: request.subtype, permissionFor: permissionFor(request) }
    : { type: 'asked', requestId, ...recognised };
}

/** The tool that a request which cannot be read seems to ask permission for; null for one that asks something else. */
const permissionFor = (request: ControlRequest): string | null =>
  control.PermissionLike.safeParse(request).data?.tool_name ?? (request.subtype === 'can_use_tool' ? 'a tool' : null);

type Recognised = Pick<Extract<AgentEvent, { type: 'asked' }>, 'kind' | 'ask'>;

/** The kind of a control request and what it asks of a person; null for one that is not for people, or cannot be read. */
function recognise(request: ControlRequest): Recognised | null {
  if (request.subtype === 'can_use_tool') {
    const { data } = control.CanUseTool.safeParse(request);
    return data === undefined ? null : { kind: kindOfTool(data.tool_name), ask: askOf(data) };
  }
  for (const kind of RequestKind.options) {
    const { recognise: rule } = requestKinds[kind];
    if (rule.by !== 'subtype' || rule.subtype !== request.subtype) continue;
    const ask = rule.read(request);
    return ask === null ? null : { kind, ask };
  }
  return null;
}

/** The kind of a permission request for this tool. */
export const kindOfTool = (toolName: string): RequestKind =>
  RequestKind.options.find((kind) => {
    const { recognise: rule } = requestKinds[kind];
    return rule.by === 'tool' && rule.toolName === toolName;
  }) ?? 'approval';

function askOf(data: (typeof control.CanUseTool)['_output']): Ask {
  const leaves = data.decision_reason_type === 'sandboxOverride';
  return {
    toolName: data.tool_name,
    displayName: data.display_name ?? data.tool_name,
    input: data.input,
    description: data.description ?? null,
    toolUseId: data.tool_use_id,
    agentId: data.agent_id ?? null,
    reason: data.decision_reason ?? null,
    blockedPath: data.blocked_path ?? null,
    suggestions: (data.permission_suggestions ?? []).filter((suggestion) => suggestion !== null),
    suppressAlwaysAllow: data.suppress_always_allow_rule ?? false,
    leavesSandbox: leaves ? { reason: data.decision_reason ?? null } : null,
  };
}

/** The open requests, which only the reply to `initialize` lists. */
export function initialized(response: Record<string, unknown>): AgentEvent[] {
  if (!control.InitializedMark.safeParse(response).success) return [];
  const parsed = control.Initialized.safeParse(response);
  if (!parsed.success) return [];
  const event: Extract<AgentEvent, { type: 'initialized' }> = {
    type: 'initialized',
    mode: parsed.data.response?.current_permission_mode ?? null,
    open: [],
    unclear: [],
  };
  for (const pending of parsed.data.pending_permission_requests) {
    const { request_id: requestId, request } = pending;
    const recognised = request === undefined ? null : recognise(request);
    if (requestId !== null && recognised !== null) event.open.push({ requestId, ...recognised });
    else {
      const raw = requestId === null ? pending.raw : pending;
      event.unclear.push({ requestId, subtype: request?.subtype ?? 'unknown', raw });
    }
  }
  return [event];
}
