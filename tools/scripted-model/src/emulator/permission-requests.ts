import { randomUUID } from 'node:crypto';
import { isRecord } from './input.ts';
import type { Printer, ToolUse } from './printer.ts';
import { askedInput } from './tools.ts';

/** The answer of the host; null for a request that was withdrawn, or answered with an interrupt. */
type Answer = Record<string, unknown> | null;

/** The requests for permission that wait for the host. */
export interface PermissionRequests {
  /** Asks the host, and resolves with its answer. Withdraws the request when the signal aborts. */
  ask(tool: ToolUse, signal: AbortSignal): Promise<Answer>;
  /** Accepts an answer, unless it is unknown, late or the second one. Returns whether it interrupts the turn. */
  settle(id: string, response: Record<string, unknown>): boolean;
  /** The lines of the open requests, as `initialize` lists them again. */
  lines(): object[];
}

export function createPermissionRequests(printer: Printer): PermissionRequests {
  const open = new Map<string, { line: object; settle: (answer: Answer) => void }>();
  return {
    ask(tool, signal) {
      const request_id = randomUUID();
      const line = { type: 'control_request', request_id, request: requestFor(tool) };
      return new Promise((resolve) => {
        const withdraw = () => {
          open.delete(request_id);
          printer.frame({ type: 'control_cancel_request', request_id });
          resolve(null);
        };
        signal.addEventListener('abort', withdraw, { once: true });
        const settle = (answer: Answer) => {
          signal.removeEventListener('abort', withdraw);
          resolve(answer);
        };
        open.set(request_id, { line, settle });
        printer.frame(line);
      });
    },
    settle(id, response) {
      const asked = open.get(id);
      if (asked === undefined) return false;
      open.delete(id);
      printer.frame({ type: 'control_response', response }); // the echo of the answer that takes effect
      const answer = isRecord(response.response) ? response.response : {};
      const isInterrupt = answer.behavior === 'deny' && answer.interrupt === true;
      asked.settle(isInterrupt ? null : answer);
      return isInterrupt;
    },
    lines: () => [...open.values()].map(({ line }) => line),
  };
}

function requestFor(tool: ToolUse): object {
  const { id, name } = tool;
  const input = askedInput(tool);
  return {
    subtype: 'can_use_tool',
    tool_name: name,
    display_name: name,
    input,
    tool_use_id: id,
    ...(name === 'AskUserQuestion'
      ? { requires_user_interaction: true }
      : { description: input.description, permission_suggestions: [] }),
  };
}
