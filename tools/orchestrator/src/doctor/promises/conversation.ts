import { randomUUID } from 'node:crypto';
import type { TestConversation } from '../test-conversation.ts';
import { assertCompatible, type CompatibilityCheck } from './claude-promise.ts';

/** How messages are delivered, and how the process lives and ends. */
export const conversationChecks: readonly CompatibilityCheck[] = [
  {
    id: 'text',
    sentence: 'treats a leading slash as text when told to',
    reliedOnFor: 'keeping a message such as "/clear" from erasing the conversation',
    lack: 'a message that begins with / runs as a command, and @path attaches files',
    needs: ['initialize'],
    check: async (environment, signal) => {
      const conversation = await environment.conversation(signal);
      await conversation.sayText('/clear');
      await conversation.result();
      assertCompatible(conversation.messages('conversation_reset').length === 0, 'it ran /clear as a command');
      assertCompatible(
        JSON.stringify(conversation.modelRequests().at(-1)?.messages.at(-1) ?? null).includes('/clear'),
        'the model did not receive it',
      );
    },
  },
  {
    id: 'repeat',
    sentence: 'drops a message whose uuid it has already received',
    reliedOnFor: 'sending a message again after a crash without Claude reading it twice',
    lack: 'Claude may read a message twice after a crash',
    needs: ['initialize'],
    check: async (environment, signal) => {
      const conversation = await environment.conversation(signal);
      const uuid = await conversation.say([{ text: 'Heard.' }]);
      await conversation.result();
      await assertRepeatDropped(conversation, uuid, 2);
      const starts = conversation.lifecycleOf(uuid).filter((state) => state === 'started').length;
      assertCompatible(starts === 1, `it reports that the message started ${starts} times`);
    },
  },
  {
    id: 'replay',
    sentence: 'drops a message that it received before a resume, and reports that',
    reliedOnFor: 'sending a message again to a resumed session without Claude reading it twice',
    lack: 'Claude may read a message twice after a resume',
    needs: ['repeat'],
    check: async (environment, signal) => {
      const before = await environment.conversation(signal);
      const uuid = await before.say([{ text: 'Heard.' }]);
      await before.result();
      const after = await environment.resume(conversationOf(before), signal);
      await assertRepeatDropped(after, uuid, 1);
      const states = after.lifecycleOf(uuid);
      assertCompatible(
        states.includes('completed') && !states.includes('started'),
        `it reports of the message: ${states.join(', ') || 'nothing'}`,
      );
    },
  },
  {
    id: 'survives',
    sentence: 'keeps working while nothing else has its input and output open',
    reliedOnFor: 'keeping sessions alive while Callboard restarts',
    lack: 'sessions do not survive a restart',
    needs: ['asks'],
    check: async (environment, signal) => {
      const conversation = await environment.conversation(signal);
      const gate = randomUUID();
      const bash = (command: string) => ({ tools: [{ name: 'Bash', input: { command } }] });
      await conversation.say([{ gate, ...bash('echo alone') }, bash('touch again'), { text: 'Done.' }]);
      await conversation.modelAsked();
      conversation.launch.detach();
      environment.release(gate);
      await conversation.modelAsked(); // it has run the first command with both ends closed
      conversation.launch.attach();
      await conversation.answer(await conversation.asked(), { behavior: 'allow' });
      await conversation.result();
    },
  },
  {
    id: 'written',
    sentence: 'records the messages that begin a turn, and those folded into one, with their ids',
    reliedOnFor: 'sending again, after its process died, exactly the messages that Claude lacks',
    lack: 'Claude may miss a message after a crash',
    needs: ['asks'],
    check: async (environment, signal) => {
      const conversation = await environment.conversation(signal);
      const first = await conversation.say([
        { tools: [{ name: 'Bash', input: { command: 'touch written' } }] },
        { text: 'Done.' },
      ]);
      const asked = await conversation.asked();
      const second = await conversation.sayText('By the way.');
      await conversation.answer(asked, { behavior: 'allow' });
      await conversation.result();
      await environment.discard();
      const written = await environment.written(conversationOf(conversation), [first, second]);
      assertCompatible(written !== null, 'the file of the conversation was not found');
      assertCompatible(written.has(first), 'the message that began a turn was not found in the conversation');
      assertCompatible(
        written.has(second),
        'the message that was folded into the turn was not found in the conversation',
      );
    },
  },
  {
    id: 'end',
    sentence: 'ends on `end_session`',
    reliedOnFor: 'stopping a session gracefully',
    lack: 'sessions can only be killed',
    needs: ['initialize'],
    check: async (environment, signal) => {
      const conversation = await environment.conversation(signal);
      await conversation.control({ subtype: 'end_session' });
      await conversation.until('its end', () => (conversation.launch.isRunning() ? undefined : true));
    },
  },
];

function conversationOf(conversation: TestConversation): string {
  const sessionId = conversation.messages('system', 'init').at(-1)?.session_id;
  assertCompatible(typeof sessionId === 'string', 'it does not report the id of the conversation');
  return sessionId;
}

/** Sends a message again, then another one. The conversation must then have `turns` turns: the repeated message began none. */
async function assertRepeatDropped(conversation: TestConversation, uuid: string, turns: number): Promise<void> {
  await conversation.say([{ text: 'Heard.' }], uuid);
  await conversation.say([{ text: 'And that.' }]);
  await conversation.result();
  const results = conversation.messages('result').length;
  assertCompatible(results === turns, `it accepted the message again (${results} turns instead of ${turns})`);
  const asked = conversation.modelRequests().length;
  assertCompatible(asked === turns, `the model was asked ${asked} times instead of ${turns}`);
}
