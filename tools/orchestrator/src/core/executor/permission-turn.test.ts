import { expect, it } from 'vitest';
import { call, notifies, openTestTurn, says } from '../../../test/support/test-turn.ts';

it('needs few transactions for a permission turn, and writes each line before it emits the events', async () => {
  const { session, print, queue, approvals, after } = await openTestTurn();
  const { stageId } = session;

  const { messageId } = await queue.send(stageId, { message: 'go', mode: 'append' }, 'Ada');
  expect(await after('session-updated')).toEqual([
    ...['session saved', 'line user'],
    ...['message-queued', 'message-sent', 'transcript-appended', 'queue-updated', 'session-updated'],
  ]);

  print(notifies('command_lifecycle', { command_uuid: messageId, state: 'started' }));
  print(notifies('system', { subtype: 'init', model: 'opus', permissionMode: 'default' }));
  print(notifies('user', { uuid: messageId, isReplay: true, message: { role: 'user', content: 'go' } }));
  print(says({ type: 'tool_use', ...call }));
  expect(await after('session-updated')).toEqual(['session saved', 'transcript-appended', 'session-updated']);
  const [given] = (await session.outbox()).filter(({ wireId }) => wireId === messageId);
  expect(given).toMatchObject({ state: 'confirmed', writtenAt: expect.any(String) });

  const ask = { subtype: 'can_use_tool', tool_name: 'Bash', input: call.input, tool_use_id: call.id };
  print({ type: 'control_request', request_id: 'r1', request: ask });
  expect(await after('session-updated')).toEqual(['session saved', 'approval-requested', 'session-updated']);

  const [request] = await session.pending();
  if (request === undefined) throw new Error('no request is open');
  const body = { requestId: request.requestId, decision: 'allow' } as const;
  const decision = approvals.approve(stageId, body, { name: 'Ada' });
  expect(await after('session-updated')).toEqual([
    ...['session saved', 'line control_response'],
    ...['approval-resolved', 'transcript-appended', 'session-updated'],
  ]);

  const echo = { subtype: 'success', request_id: 'r1', response: { behavior: 'allow' } };
  const result = { type: 'tool_result', tool_use_id: call.id, content: 'made', is_error: false };
  print(
    { type: 'control_response', response: echo },
    notifies('user', { parent_tool_use_id: null, message: { role: 'user', content: [result] } }),
  );
  expect(await decision).toMatchObject({ delivery: 'confirmed' });
  // The call has ended, so what the session does has changed: one more event of the same transaction.
  expect(await after('session-updated')).toEqual([
    ...['session saved', 'decision-updated'],
    ...['transcript-appended', 'session-updated'],
  ]);

  print(
    says({ type: 'text', text: 'Done.' }),
    notifies('result', { subtype: 'success', is_error: false, user_message_uuids: [messageId] }),
    notifies('command_lifecycle', { command_uuid: messageId, state: 'completed' }),
  );
  expect(await after('session-updated')).toEqual([
    ...['queue read', 'session saved'],
    ...['transcript-appended', 'session-updated'],
  ]);
  expect(await session.record()).toMatchObject({ state: 'idle', alarm: null });
});
