import type { DenialSource } from '@callboard/contract';
import type { AgentEvent } from '../agent/agent-event.ts';
import type * as wire from './wire/messages.ts';

type Denied = Extract<AgentEvent, { type: 'call-denied' }>;
type Meta = NonNullable<(typeof wire.UserMessage)['_output']['tool_result_meta']>[number];

/** What the CLI calls its reasons (2.1.330). */
const SOURCES: Readonly<Record<string, DenialSource>> = {
  mode: 'mode',
  classifier: 'mode', // the safety check of auto mode
  asyncAgent: 'mode',
  rule: 'rule',
  subcommandResults: 'rule', // said of every Bash command
  hook: 'hook',
};

const sourceOf = (type: string | undefined): DenialSource => SOURCES[type ?? ''] ?? 'unknown';

/** What the model is told besides, in a denial of any kind: nothing that a person has to read. */
const ADVICE = / IMPORTANT: You \*may\* attempt [\s\S]*$/;
const HOOK_ERROR = /^(\w+:\S+) hook error: ([\s\S]*)$/;
const TOOL_ERROR = /^<tool_use_error>([\s\S]*)<\/tool_use_error>$/;

/** A line that tells of a denial by itself, before the result of the call. Null where it does not say which call it is. */
export function translateDenied(line: (typeof wire.PermissionDenied)['_output']): Denied | null {
  const { tool_use_id: toolUseId, tool_name: toolName = '', decision_reason_type: type, message } = line;
  if (toolUseId === undefined || toolUseId === '') return null;
  const denial = { source: sourceOf(type), detail: null };
  return { type: 'call-denied', toolUseId, toolName, denial, reason: reasonOf(message ?? line.decision_reason) };
}

/**
 * What the result of a call says of who denied it. File tools under a deny rule and hooks are told of here alone. Null for
 * a call that ran, failed, or was denied by a person.
 */
export function deniedIn(meta: Meta | undefined, toolUseId: string, text: string): Denied | null {
  const { permission_decision: decided, non_execution_kind: kind } = meta ?? {};
  const source = sourceIn(decided, kind);
  if (source === null) return null;
  const [, detail = null, said = text] = HOOK_ERROR.exec(text) ?? [];
  const denial = { source, detail: source === 'hook' ? detail : null };
  return { type: 'call-denied', toolUseId, toolName: '', denial, reason: reasonOf(said) };
}

function sourceIn(decided: Meta['permission_decision'], kind: string | undefined): DenialSource | null {
  if (kind === 'automode-unavailable') return 'mode';
  if (decided?.decision !== 'reject') return null;
  switch (decided.source) {
    case 'hook':
      return 'hook';
    case 'config':
      return sourceOf(decided.reason_type);
    default:
      // A person's, which has no type; but a rule in a file of the user's own is told of as `user_reject`, too (tried).
      return SOURCES[decided.reason_type ?? ''] ?? null;
  }
}

/** Whether it is told what became of the call, so that nothing has to be guessed from the end of the turn. */
export const wasReported = (meta: Meta | undefined): boolean =>
  meta?.permission_decision !== undefined || meta?.non_execution_kind !== undefined;

function reasonOf(text: string | undefined): string | null {
  const said = (text ?? '').replace(ADVICE, '').replace(TOOL_ERROR, '$1').trim();
  return said === '' ? null : said;
}

/** What the CLI says of a call that an interrupt ended, and of one that a person denied without a word (2.1.330). */
const REFUSED = /^The user doesn't want to proceed with this tool use\./;
/** What it adds for a call that was running. */
const WAS_RUNNING = 'this call was stopped while running';

/** Whether an interrupt may have ended a call. Of a person's denial the CLI tells who decided, or repeats their words. */
export function stoppedCall(meta: Meta | undefined, text: string): { stopped?: 'before' | 'running' } {
  if (meta?.permission_decision !== undefined || !REFUSED.test(text)) return {};
  return { stopped: text.includes(WAS_RUNNING) ? 'running' : 'before' };
}
