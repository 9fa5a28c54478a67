import { type CommandInput, type CommandType, commands } from '@callboard/contract';
import fc from 'fast-check';
import { afterEach, expect, it, vi } from 'vitest';
import { silent } from '../../test/support/test-store.ts';
import type { CommandContext, CommandHandlers } from '../core/commands/command-handler.ts';
import { Rejection } from '../lib/errors.ts';
import { createExecutedCommands, executeCommand, type Outcome } from './execute-command.ts';

afterEach(() => void vi.restoreAllMocks());

/** Executes frames with handlers that only record their input. */
function setUp() {
  const received: { type: CommandType; input: CommandInput<CommandType>; context: CommandContext }[] = [];
  const noting = Object.keys(commands).map((type) => [
    type,
    async (input: never, context: CommandContext) => {
      received.push({ type: type as CommandType, input, context });
      return {};
    },
  ]);
  const handlers = Object.fromEntries(noting) as CommandHandlers;
  const logins = {
    check({ secret }: { secret: string }) {
      if (secret !== 'good') throw new Rejection('not_logged_in', 'Log in.');
      return { actor: { name: 'Ada' }, loginId: 'login-1', kind: 'page' as const };
    },
  };
  const callers = { requireConnection: async () => undefined };
  const executed = createExecutedCommands<Outcome>();
  const run = (text: string) =>
    executeCommand({ handlers, logins, callers, log: silent, executed }, text, () => undefined);
  return { received, run };
}

const approve = { type: 'approve_tool', id: '7', stageId: 'STAGE-1', requestId: 'r', decision: 'allow' };
const credential = { kind: 'page', secret: 'good' };

it('parses a frame once and passes only its own fields to the handler', async () => {
  const { received, run } = setUp();
  const parse = vi.spyOn(JSON, 'parse');
  const reply = await run(JSON.stringify({ ...approve, credential, actor: { name: 'Eve' } }));
  expect(parse).toHaveBeenCalledOnce();
  expect(reply).toEqual({ type: 'reply', id: '7', ok: true, data: {} });
  expect(received).toMatchObject([{ type: 'approve_tool', context: { actor: { name: 'Ada' } } }]);
  expect(received[0]?.input).toEqual({ stageId: 'STAGE-1', requestId: 'r', decision: 'allow' });
});

it('executes a command that is sent again under its key once, for the same login', async () => {
  const { received, run } = setUp();
  const idempotency = { key: '0198f3a2-7c1b-7d1e-9a53-5b8f0c2d4e61' };
  const frame = (id: string) => JSON.stringify({ ...approve, id, credential, idempotency });
  expect(await run(frame('7'))).toMatchObject({ id: '7', ok: true });
  expect(await run(frame('8'))).toMatchObject({ id: '8', ok: true });
  expect(received).toHaveLength(1);
});

it('executes nothing for an invalid or revoked credential', async () => {
  const { received, run } = setUp();
  const reply = await run(JSON.stringify({ ...approve, credential: { kind: 'page', secret: 'revoked' } }));
  expect(reply).toMatchObject({ id: '7', ok: false, error: { code: 'not_logged_in' } });
  expect(received).toEqual([]);
});

it.each([
  ['an unknown command', { ...approve, type: 'fly' }],
  ['a field of the wrong shape', { ...approve, decision: 'perhaps' }],
  ['an unknown field', { ...approve, force: true }],
  ['a credential without a kind', { ...approve, credential: { secret: 'good' } }],
])('answers %s with bad_request', async (_, frame) => {
  const { received, run } = setUp();
  expect(await run(JSON.stringify(frame))).toMatchObject({ id: '7', ok: false, error: { code: 'bad_request' } });
  expect(received).toEqual([]);
});

/** Frames that are almost valid, and texts that are not frames. */
const frames = fc.oneof(
  fc.string(),
  fc.json(),
  fc
    .record(
      {
        type: fc.oneof(fc.constantFrom(...Object.keys(commands)), fc.string()),
        id: fc.oneof(fc.string(), fc.jsonValue()),
        actor: fc.oneof(fc.record({ name: fc.string() }), fc.jsonValue()),
        credential: fc.oneof(fc.constant(credential), fc.jsonValue()),
        stageId: fc.oneof(fc.constant('STAGE-1'), fc.jsonValue()),
        requestId: fc.oneof(fc.constant('r'), fc.jsonValue()),
        decision: fc.oneof(fc.constantFrom('allow', 'deny'), fc.jsonValue()),
        __proto__: fc.jsonValue(),
      },
      { requiredKeys: [] },
    )
    .map((frame) => JSON.stringify(frame)),
);

it('answers every text that has an id, and passes only input to handlers that fits its schema', async () => {
  const { received, run } = setUp();
  await fc.assert(
    fc.asyncProperty(frames, async (text) => {
      received.length = 0;
      const reply = await run(text);
      const id = idIn(text);
      if (id === undefined) expect(reply).toBeNull();
      else expect(reply).toMatchObject({ type: 'reply', id });
      for (const { type, input } of received) expect(commands[type].input.parse(input)).toEqual(input);
      if (reply !== null && !reply.ok) expect(received).toEqual([]);
    }),
    { numRuns: 2_000 },
  );
});

function idIn(text: string): string | undefined {
  try {
    const id: unknown = JSON.parse(text)?.id;
    return typeof id === 'string' ? id.toWellFormed() : undefined;
  } catch {
    return undefined;
  }
}
