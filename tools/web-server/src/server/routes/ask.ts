import type { IncomingMessage } from 'node:http';
import type { CommandInput, CommandReply, CommandType } from '@callboard/contract';
import type { Gate } from '../auth/gate.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';

/** Relays a command to the orchestrator with the credential of the request, which the orchestrator checks. */
export type Ask = <T extends CommandType>(
  request: { raw: IncomingMessage },
  type: T,
  input: CommandInput<T>,
) => Promise<CommandReply<T>>;

export const createAsk =
  ({ client, gate }: { client: OrchestratorClient; gate: Gate }): Ask =>
  (request, type, input) =>
    client.send(type, input, { credential: gate.loginOf(request).credential });
