import type { Ask } from './agent-event.ts';

/** Whether a call with this input runs outside the sandbox. */
export const leavesByInput = (toolName: string, input: Readonly<Record<string, unknown>>): boolean =>
  toolName === 'Bash' && input.dangerouslyDisableSandbox === true;

/**
 * Marks a request that leaves the sandbox and removes the rules it suggests: none can be kept. In a process sandboxed by
 * Callboard the input alone says so, since the CLI then names the rule that made it ask.
 */
export function withLeaving(ask: Ask, isSandboxed: boolean): Ask {
  const leaves = ask.leavesSandbox !== null || (isSandboxed && leavesByInput(ask.toolName, ask.input));
  if (!leaves) return ask;
  const leavesSandbox = ask.leavesSandbox ?? { reason: null };
  return { ...ask, reason: null, suggestions: [], suppressAlwaysAllow: true, leavesSandbox };
}
