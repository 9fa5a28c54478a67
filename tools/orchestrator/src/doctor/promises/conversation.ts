import { randomUUID } from 'node:crypto';
import type { TestConversation } from '../test-conversation.ts';
import { type ClaudePromise, require } from './claude-promise.ts';

/** Messages, and the life of the process. */
export const conversationPromises: readonly ClaudePromise[] = [
  {
    id: 'text',
    sentence: 'takes a leading slash as text where it is told to',
    reliedOnFor: 'keeping a message such as "/clear" from wiping the conversation',
    lack: 'a message that begins with / runs as a command, and @path attaches files',
    needs: ['initialize'],
    keep: async (lab, signal) => {
      const talk = await lab.talk(signal);
      await talk.sayText('/clear');
      await talk.result();
      require(talk.messages('conversation_reset').length === 0, 'it ran /clear as a command');
      require(JSON.stringify(talk.modelRequests().at(-1)?.messages.at(-1) ?? null).includes(
        '/clear',
      ), 'the model did not get it');
    },
  },
  {
    id: 'repeat',
    sentence: 'drops a message whose uuid it has had',
    reliedOnFor: 'sending a message again after a crash without Claude reading it twice',
    lack: 'Claude may read a message twice after a crash',
    needs: ['initialize'],
    keep: async (lab, signal) => {
      const talk = await lab.talk(signal);
      const uuid = await talk.say([{ text: 'Heard.' }]);
      await talk.result();
      await saidAgainInVain(talk, uuid, 2);
      const starts = talk.lifecycleOf(uuid).filter((state) => state === 'started').length;
      require(starts === 1, `it tells of ${starts} starts of the message`);
    },
  },
  {
    id: 'replay',
    sentence: 'drops a message that it had before a resume, and says so',
    reliedOnFor: 'sending a message again to a resumed session without Claude reading it twice',
    lack: 'Claude may read a message twice after a resume',
    needs: ['repeat'],
    keep: async (lab, signal) => {
      const before = await lab.talk(signal);
      const uuid = await before.say([{ text: 'Heard.' }]);
      await before.result();
      const after = await lab.resume(conversationOf(before), signal);
      await saidAgainInVain(after, uuid, 1);
      const told = after.lifecycleOf(uuid);
      require(told.includes('completed') &&
        !told.includes('started'), `it tells of the message: ${told.join(', ') || 'nothing'}`);
    },
  },
  {
    id: 'survives',
    sentence: 'goes on with its work when all who held its input and output have let go',
    reliedOnFor: 'keeping sessions alive while Callboard restarts',
    lack: 'sessions do not survive a restart',
    needs: ['asks'],
    keep: async (lab, signal) => {
      const talk = await lab.talk(signal);
      const gate = randomUUID();
      const bash = (command: string) => ({ tools: [{ name: 'Bash', input: { command } }] });
      await talk.say([{ gate, ...bash('echo alone') }, bash('touch again'), { text: 'Done.' }]);
      await talk.modelAsked();
      talk.trial.detach();
      lab.release(gate);
      await talk.modelAsked(); // it has run the first command with nobody there
      talk.trial.attach();
      await talk.answer(await talk.asked(), { behavior: 'allow' });
      await talk.result();
    },
  },
  {
    id: 'written',
    sentence: 'writes down, under their ids, the messages that begin a turn and those that come into one',
    reliedOnFor: 'telling Claude again, after its process died, what it lacks and nothing else',
    lack: 'Claude may miss a message after a crash',
    needs: ['asks'],
    keep: async (lab, signal) => {
      const talk = await lab.talk(signal);
      const first = await talk.say([
        { tools: [{ name: 'Bash', input: { command: 'touch written' } }] },
        { text: 'Done.' },
      ]);
      const asked = await talk.asked();
      const second = await talk.sayText('By the way.');
      await talk.answer(asked, { behavior: 'allow' });
      await talk.result();
      await lab.discard();
      const written = await lab.written(conversationOf(talk), [first, second]);
      require(written !== null, 'the file of the conversation was not found');
      require(written.has(first), 'the message that began a turn was not found in the conversation');
      require(written.has(second), 'the message that came into the turn was not found in the conversation');
    },
  },
  {
    id: 'end',
    sentence: 'ends when it is told to by `end_session`',
    reliedOnFor: 'stopping a session in good order',
    lack: 'sessions end by force only',
    needs: ['initialize'],
    keep: async (lab, signal) => {
      const talk = await lab.talk(signal);
      await talk.control({ subtype: 'end_session' });
      await talk.until('its end', () => (talk.trial.isRunning() ? undefined : true));
    },
  },
];

function conversationOf(talk: TestConversation): string {
  const sessionId = talk.messages('system', 'init').at(-1)?.session_id;
  require(typeof sessionId === 'string', 'it does not tell the id of the conversation');
  return sessionId;
}

/** Sends a message again, then another; the number of turns in this talk must be `turns`: the second one made none. */
async function saidAgainInVain(talk: TestConversation, uuid: string, turns: number): Promise<void> {
  await talk.say([{ text: 'Heard.' }], uuid);
  await talk.say([{ text: 'And that.' }]);
  await talk.result();
  const results = talk.messages('result').length;
  require(results === turns, `it took the message again (${results} turns instead of ${turns})`);
  const asked = talk.modelRequests().length;
  require(asked === turns, `the model was asked ${asked} times instead of ${turns}`);
}
