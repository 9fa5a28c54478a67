import type { Ask } from './agent-event.ts';

/** Whether a call with this input is to run outside of the sandbox. */
export const leavesByInput = (toolName: string, input: Readonly<Record<string, unknown>>): boolean =>
  toolName === 'Bash' && input.dangerouslyDisableSandbox === true;

/**
 * What is asked, as a person is to see it: of a call that leaves the sandbox nothing can be kept. In a process that has the sandbox
 * from Callboard the input alone says so, since the CLI then names the rule that has it asked.
 */
export function withLeaving(ask: Ask, isSandboxed: boolean): Ask {
  const leaves = ask.leavesSandbox !== null || (isSandboxed && leavesByInput(ask.toolName, ask.input));
  if (!leaves) return ask;
  const leavesSandbox = ask.leavesSandbox ?? { reason: null };
  return { ...ask, reason: null, suggestions: [], suppressAlwaysAllow: true, leavesSandbox };
}
