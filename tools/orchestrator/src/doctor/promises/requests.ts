import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Initialized, InitializedMark } from '../../claude/wire/control.ts';
import { assertCompatible, type CompatibilityCheck } from './claude-promise.ts';

const touch = (file: string) => ({ tools: [{ name: 'Bash', input: { command: `touch ${file}` } }] });
const allow = { behavior: 'allow' };

/** How `claude` asks for permission, and when a request is no longer open. */
export const requestChecks: readonly CompatibilityCheck[] = [
  {
    id: 'initialize',
    sentence: 'answers the opening handshake',
    reliedOnFor: 'starting sessions at all',
    lack: 'sessions do not start',
    needs: [],
    check: async (environment, signal) => void (await environment.conversation(signal)),
  },
  {
    id: 'idle',
    sentence: 'reports no open requests while it is idle',
    reliedOnFor: 'knowing that a session is ready, and that nothing waits for a person',
    lack: 'answered requests may stay on the board',
    needs: ['initialize'],
    check: async (environment, signal) => {
      const conversation = await environment.conversation(signal);
      await conversation.say([{ text: 'Nothing to ask.' }]);
      await conversation.result();
      const reply = await conversation.control({ subtype: 'initialize' });
      assertCompatible(InitializedMark.safeParse(reply).success, 'Callboard cannot recognise the reply');
      const open = Initialized.parse(reply).pending_permission_requests.length;
      assertCompatible(open === 0, `it lists ${open} open requests`);
    },
  },
  {
    id: 'asks',
    sentence: 'asks over stdio before it runs a tool, and runs it once it is allowed',
    reliedOnFor: 'showing on the board what waits for a person',
    lack: 'tools may run without asking',
    needs: ['initialize'],
    check: async (environment, signal) => {
      const conversation = await environment.conversation(signal);
      await conversation.say([touch('asked'), { text: 'Done.' }]);
      const asked = await conversation.asked();
      assertCompatible(!existsSync(join(environment.cwd, 'asked')), 'it ran the tool before it was allowed');
      await conversation.answer(asked, allow);
      await conversation.result();
      assertCompatible(existsSync(join(environment.cwd, 'asked')), 'it did not run the allowed tool');
    },
  },
  {
    id: 'echo',
    sentence: 'echoes the answer that took effect, with an equal body',
    reliedOnFor: 'knowing that an answer reached Claude, and noticing answers that nobody gave',
    lack: 'answers cannot be confirmed',
    needs: ['asks'],
    check: async (environment, signal) => {
      const conversation = await environment.conversation(signal);
      await conversation.say([touch('echoed'), { text: 'Done.' }]);
      const asked = await conversation.asked();
      const sent = await conversation.answer(asked, allow);
      await conversation.result();
      const echo = conversation.responseTo(asked.requestId)?.response;
      assertCompatible(echo !== undefined, 'it did not echo the answer');
      assertCompatible(isDeepStrictEqual(echo, sent), `the echo differs from what was sent: ${JSON.stringify(echo)}`);
    },
  },
  {
    id: 'parallel',
    sentence: 'keeps requests of parallel tools open at the same time',
    reliedOnFor: 'letting several requests of one session be answered in any order',
    lack: 'one request at a time',
    needs: ['asks'],
    check: async (environment, signal) => {
      const conversation = await environment.conversation(signal);
      const files = ['one', 'two'].map((name) => join(environment.outside, name));
      await Promise.all(files.map((file) => writeFile(file, 'text\n')));
      await conversation.say([
        { tools: files.map((file_path) => ({ name: 'Read', input: { file_path } })) },
        { text: 'Read both.' },
      ]);
      const [first, second] = [await conversation.asked(), await conversation.asked()];
      await conversation.answer(second, allow);
      await conversation.answer(first, allow);
      await conversation.result();
    },
  },
  {
    id: 'pending',
    sentence: 'lists its open requests when `initialize` is sent again',
    reliedOnFor: 'finding out what Claude still waits for after a restart',
    lack: 'open requests may be lost in a restart',
    needs: ['asks'],
    check: async (environment, signal) => {
      const conversation = await environment.conversation(signal);
      await conversation.say([touch('pending'), { text: 'Done.' }]);
      const asked = await conversation.asked();
      const { data } = Initialized.safeParse(await conversation.control({ subtype: 'initialize' }));
      assertCompatible(data !== undefined, 'the response has no `pending_permission_requests`');
      const ids = data.pending_permission_requests.map((pending) => pending?.request_id);
      assertCompatible(
        ids.length === 1 && ids[0] === asked.requestId,
        `it lists ${ids.length} requests instead of only the open one`,
      );
      await conversation.answer(asked, allow);
      await conversation.result();
    },
  },
  {
    id: 'cancel',
    sentence: 'withdraws its request after an interrupt',
    reliedOnFor: 'removing requests that can no longer be answered from the board',
    lack: 'requests stay open after an interrupt',
    needs: ['asks'],
    check: async (environment, signal) => {
      const conversation = await environment.conversation(signal);
      await conversation.say([touch('cancelled'), { text: 'Done.' }]);
      const { requestId } = await conversation.asked();
      await conversation.control({ subtype: 'interrupt', cancel_queued: true });
      await conversation.until('the withdrawal of its request', () =>
        conversation.frames().find((frame) => frame.kind === 'cancel' && frame.requestId === requestId),
      );
      await conversation.result();
      assertCompatible(!existsSync(join(environment.cwd, 'cancelled')), 'it ran the tool anyway');
    },
  },
];
