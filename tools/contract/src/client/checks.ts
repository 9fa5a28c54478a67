import { z } from 'zod';
import { type CommandInput, type CommandReply, type CommandType, commands } from '../commands.ts';
import { type CommandError, problems } from '../problems.ts';
import { TransportError } from './transport.ts';

/** Returns the parsed input; throws `bad_request` before anything is sent. */
export function checkedInput<T extends CommandType>(type: T, input: CommandInput<T>): Record<string, unknown> {
  const parsed = z.safeParse<z.ZodType<Record<string, unknown>>>(commands[type].input, input);
  if (parsed.success) return parsed.data;
  throw new TransportError(problems.bad_request.status, 'bad_request', z.prettifyError(parsed.error));
}

/** Returns the parsed reply; throws `internal` if it is invalid. */
export function checkedReply<T extends CommandType>(type: T, data: unknown): CommandReply<T> {
  const parsed = commands[type].reply.safeParse(data);
  if (parsed.success) return parsed.data as CommandReply<T>; // the schema was looked up by T
  const text = `Callboard's answer to ${type} is invalid.`;
  throw new TransportError(problems.internal.status, 'internal', `${text}\n${z.prettifyError(parsed.error)}`);
}

/** Returns the error for a refused command. */
export const refused = ({ code, message, decision }: CommandError): TransportError =>
  new TransportError(problems[code].status, code, message, { decision: decision ?? null });
