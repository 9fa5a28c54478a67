import { carryOut } from './control-requests.ts';
import type { Conversation } from './conversation.ts';
import type { EmulatedProcess, Message } from './emulated-process.ts';
import type { InputLine } from './input.ts';
import { createPermissionRequests } from './permission-requests.ts';
import type { Printer } from './printer.ts';
import { replay, runTurn } from './turn.ts';

export interface EmulatorDeps {
  conversation: Conversation;
  printer: Printer;
  permissionMode: string;
  cwd: string;
  exit: (code: number) => void;
}

/**
 * Handles the lines of a host as `claude` does, as far as Callboard depends on it and as seen with 2.1.330. Its model is the
 * script in the newest message.
 * @returns the function that takes the host's lines
 */
export function createEmulatedClaude({ exit, ...parts }: EmulatorDeps): (line: InputLine) => void {
  const { conversation, printer } = parts;
  const requests = createPermissionRequests(printer);
  const process: EmulatedProcess = { ...parts, requests, queue: [], costUsd: 0, turn: null, isEnding: false };
  const seen = new Set<string>();
  let lastFailed = false;

  function takeMessage({ uuid, text }: Message): void {
    if (seen.has(uuid)) return;
    seen.add(uuid);
    if (conversation.hasRead(uuid)) {
      replay(printer, { uuid, text });
      printer.lifecycle(uuid, 'completed');
      return;
    }
    printer.lifecycle(uuid, 'queued');
    process.queue.push({ uuid, text });
    if (process.turn === null) void work();
  }

  async function work(): Promise<void> {
    const { queue } = process;
    // The first message of an idle session makes a turn of its own; those that arrive during a turn share the next one.
    for (let batch = queue.splice(0, 1); batch.length > 0 && !process.isEnding; batch = queue.splice(0)) {
      process.turn = new AbortController();
      lastFailed = await runTurn(process, batch, process.turn.signal);
      process.turn = null;
    }
    if (process.isEnding) exit(lastFailed ? 1 : 0);
  }

  function takeRequest(id: string, request: { subtype: string; [field: string]: unknown }): void {
    const fields = carryOut(process, request);
    const error = `Unsupported control request subtype: ${request.subtype}`;
    const response =
      fields === null
        ? { subtype: 'error', error, error_code: 'unsupported_request' }
        : { subtype: 'success', ...fields };
    printer.frame({ type: 'control_response', response: { ...response, request_id: id } });
    if (request.subtype === 'set_permission_mode') {
      const { permissionMode } = process;
      printer.message({ type: 'system', subtype: 'status', status: null, permissionMode });
    }
    if (process.isEnding && process.turn === null) exit(0);
  }

  return (line) => {
    if (line.kind === 'user') takeMessage(line);
    else if (line.kind === 'request') takeRequest(line.id, line.request);
    else if (line.kind === 'answer' && requests.settle(line.id, line.response)) process.turn?.abort();
  };
}
