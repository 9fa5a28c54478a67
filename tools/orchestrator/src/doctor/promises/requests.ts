import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Initialized, InitializedMark } from '../../claude/wire/control.ts';
import { type ClaudePromise, require } from './claude-promise.ts';

const touch = (file: string) => ({ tools: [{ name: 'Bash', input: { command: `touch ${file}` } }] });
const allow = { behavior: 'allow' };

/** How it asks for permission, and when it stops asking. */
export const requestPromises: readonly ClaudePromise[] = [
  {
    id: 'initialize',
    sentence: 'answers the opening handshake',
    reliedOnFor: 'starting sessions at all',
    lack: 'sessions do not start',
    needs: [],
    keep: async (lab, signal) => void (await lab.talk(signal)),
  },
  {
    id: 'idle',
    sentence: 'says that nothing is open while it has nothing to do',
    reliedOnFor: 'knowing that a session is up, and that nothing waits for a person',
    lack: 'answered requests may stay on the board',
    needs: ['initialize'],
    keep: async (lab, signal) => {
      const talk = await lab.talk(signal);
      await talk.say([{ text: 'Nothing to ask.' }]);
      await talk.result();
      const reply = await talk.control({ subtype: 'initialize' });
      require(InitializedMark.safeParse(reply).success, 'the reply has nothing that Callboard knows it by');
      const open = Initialized.parse(reply).pending_permission_requests.length;
      require(open === 0, `it lists ${open} open requests`);
    },
  },
  {
    id: 'asks',
    sentence: 'asks over stdio before it runs a tool, and runs it once that is allowed',
    reliedOnFor: 'showing on the board what waits for a person',
    lack: 'tools may run without asking',
    needs: ['initialize'],
    keep: async (lab, signal) => {
      const talk = await lab.talk(signal);
      await talk.say([touch('asked'), { text: 'Done.' }]);
      const asked = await talk.asked();
      require(!existsSync(join(lab.cwd, 'asked')), 'it ran the tool before it was allowed');
      await talk.answer(asked, allow);
      await talk.result();
      require(existsSync(join(lab.cwd, 'asked')), 'it did not run the tool although it was allowed');
    },
  },
  {
    id: 'echo',
    sentence: 'echoes the answer that counted, with an equal body',
    reliedOnFor: 'knowing that an answer has reached Claude, and noticing answers that nobody gave',
    lack: 'answers cannot be confirmed',
    needs: ['asks'],
    keep: async (lab, signal) => {
      const talk = await lab.talk(signal);
      await talk.say([touch('echoed'), { text: 'Done.' }]);
      const asked = await talk.asked();
      const sent = await talk.answer(asked, allow);
      await talk.result();
      const echo = talk.responseTo(asked.requestId);
      require(echo !== undefined, 'it sent no echo of the answer');
      require(isDeepStrictEqual(echo, sent), `the echo differs from what was sent: ${JSON.stringify(echo)}`);
    },
  },
  {
    id: 'parallel',
    sentence: 'has requests of parallel tools open at once',
    reliedOnFor: 'letting several requests of one session be answered in any order',
    lack: 'one request at a time',
    needs: ['asks'],
    keep: async (lab, signal) => {
      const talk = await lab.talk(signal);
      const files = ['one', 'two'].map((name) => join(lab.outside, name));
      await Promise.all(files.map((file) => writeFile(file, 'text\n')));
      await talk.say([
        { tools: files.map((file_path) => ({ name: 'Read', input: { file_path } })) },
        { text: 'Read both.' },
      ]);
      const [first, second] = [await talk.asked(), await talk.asked()];
      await talk.answer(second, allow);
      await talk.answer(first, allow);
      await talk.result();
    },
  },
  {
    id: 'pending',
    sentence: 'lists its open requests when `initialize` is repeated',
    reliedOnFor: 'finding out after a restart what Claude still waits for',
    lack: 'open requests may be lost in a restart',
    needs: ['asks'],
    keep: async (lab, signal) => {
      const talk = await lab.talk(signal);
      await talk.say([touch('pending'), { text: 'Done.' }]);
      const asked = await talk.asked();
      const { data } = Initialized.safeParse(await talk.control({ subtype: 'initialize' }));
      require(data !== undefined, 'the response has no `pending_permission_requests`');
      const ids = data.pending_permission_requests.map((pending) => pending?.request_id);
      require(ids.length === 1 &&
        ids[0] === asked.requestId, `it lists ${ids.length} requests, and not the open one alone`);
      await talk.answer(asked, allow);
      await talk.result();
    },
  },
  {
    id: 'cancel',
    sentence: 'takes its request back after an interrupt',
    reliedOnFor: 'removing from the board what nobody can answer any more',
    lack: 'requests stay open after an interrupt',
    needs: ['asks'],
    keep: async (lab, signal) => {
      const talk = await lab.talk(signal);
      await talk.say([touch('cancelled'), { text: 'Done.' }]);
      const { requestId } = await talk.asked();
      await talk.control({ subtype: 'interrupt', cancel_queued: true });
      await talk.until('the cancel of its request', () =>
        talk.frames().find((frame) => frame.kind === 'cancel' && frame.requestId === requestId),
      );
      await talk.result();
      require(!existsSync(join(lab.cwd, 'cancelled')), 'it ran the tool all the same');
    },
  },
];
