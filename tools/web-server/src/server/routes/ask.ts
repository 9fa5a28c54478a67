import type { IncomingMessage } from 'node:http';
import type { CommandInput, CommandReply, CommandType } from '@callboard/contract';
import type { Gate } from '../auth/gate.ts';
import type { OrchestratorClient } from '../orchestrator/client.ts';

/** Relays a command of a request that the gate admitted, with what that showed: the orchestrator checks it. */
export type Ask = <T extends CommandType>(
  request: { raw: IncomingMessage },
  type: T,
  input: CommandInput<T>,
) => Promise<CommandReply<T>>;

export const createAsk =
  ({ client, gate }: { client: OrchestratorClient; gate: Gate }): Ask =>
  (request, type, input) =>
    client.send(type, input, { credential: gate.loginOf(request).credential });
