import type { EmulatedProcess, Message } from './emulated-process.ts';
import { MODEL } from './printer.ts';

const uuidOf = ({ uuid }: Message): string => uuid;

/** Carries out a control request. Returns the fields of its reply; null for an unknown subtype. */
export function carryOut(
  emulated: EmulatedProcess,
  request: { subtype: string; [field: string]: unknown },
): object | null {
  const { requests, turn, queue, printer, permissionMode, costUsd } = emulated;
  switch (request.subtype) {
    case 'initialize': {
      const open = requests.lines();
      const session_state = open.length > 0 ? 'requires_action' : turn === null ? 'idle' : 'running';
      const mode = { current_permission_mode: permissionMode };
      const response = { commands: [], models: [], ...mode, session_state, pid: process.pid };
      return { response, pending_permission_requests: open };
    }
    case 'interrupt': {
      const taken = request.cancel_queued === true ? queue.splice(0) : [];
      turn?.abort();
      for (const { uuid } of taken) printer.lifecycle(uuid, 'cancelled');
      return { response: { still_queued: queue.map(uuidOf), cancelled: taken.map(uuidOf) } };
    }
    case 'set_permission_mode':
      emulated.permissionMode = String(request.mode);
      return { response: { mode: emulated.permissionMode } };
    case 'set_model':
      return { response: { model: request.model ?? MODEL } };
    case 'apply_flag_settings':
      return {};
    case 'get_context_usage':
      return { response: { totalTokens: 1_000, maxTokens: 200_000, percentage: 1 } };
    case 'get_usage':
      return { response: { session: { total_cost_usd: costUsd } } };
    case 'end_session':
      emulated.isEnding = true;
      turn?.abort();
      return {};
    default:
      return null;
  }
}
