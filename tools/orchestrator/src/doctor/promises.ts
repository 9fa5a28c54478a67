import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { LoggedRequest } from '@callboard/scripted-model';
import { z } from 'zod';
import { Initialized, InitializedMark, UserMessage } from '../core/claude/wire.ts';
import type { HandshakeReport } from './report.ts';
import type { TestConversation, TestEnvironment } from './test-environment.ts';
import { FORBIDDEN_BY_RULE, FORBIDDEN_TEXT, HOOKED_TOOL, REMEMBERED } from './test-settings.ts';

const touch = (file: string) => ({ tools: [{ name: 'Bash', input: { command: `touch ${file}` } }] });
const allow = { behavior: 'allow' };

/** How `claude` asks for permission, and when a request is no longer open. */
const requestChecks: readonly CompatibilityCheck[] = [
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

/** A behaviour of `claude` that Callboard relies on. */
export interface CompatibilityCheck {
  readonly id: string;
  /** What a version that keeps it does; follows the version's name. */
  readonly sentence: string;
  /** What would not work without it. */
  readonly reliedOnFor: string;
  /** What people notice when it is not kept, in a few words for a card: "tools that a hook allows go unnoticed". */
  readonly lack: string;
  /** Promises without which this one cannot be tried. */
  readonly needs: readonly string[];
  /** Tries it. @throws Error that says how it is not kept */
  check(environment: TestEnvironment, signal: AbortSignal): Promise<void>;
}

/** Throws an error with that message unless the promise was kept. */
function assertCompatible(saved: boolean, otherwise: string): asserts saved {
  if (!saved) throw new Error(otherwise);
}

/** How a person's answer affects the conversation. */
const answerChecks: readonly CompatibilityCheck[] = [
  {
    id: 'deny-reason',
    sentence: 'passes the reason for a denial to the model word for word',
    reliedOnFor: 'telling Claude what to do instead',
    lack: 'Claude does not learn why a tool was denied',
    needs: ['asks'],
    check: async (environment, signal) => {
      const conversation = await environment.conversation(signal);
      await conversation.say([{ tools: [{ name: 'Bash', input: { command: 'touch denied' } }] }, { text: 'I see.' }]);
      const message = 'Not like this: use "tests/"\n— bitte.';
      await conversation.answer(await conversation.asked(), { behavior: 'deny', message });
      await conversation.result();
      const result = lastToolResult(conversation.modelRequests());
      assertCompatible(result?.content === message, `the model read ${JSON.stringify(result?.content)}`);
      assertCompatible(result.is_error === true, 'the model was not told that the tool was denied');
      assertCompatible(!existsSync(join(environment.cwd, 'denied')), 'it ran the tool anyway');
    },
  },
  {
    id: 'source',
    sentence: 'reports for each tool who allowed it',
    reliedOnFor: 'noticing a hook that allows tools instead of a person',
    lack: 'tools that a hook allows go unnoticed',
    needs: ['asks'],
    check: async (environment, signal) => {
      const conversation = await environment.conversation(signal);
      await conversation.say([{ tools: [{ name: 'Bash', input: { command: 'touch let' } }] }, { text: 'Done.' }]);
      await conversation.answer(await conversation.asked(), { behavior: 'allow' });
      await conversation.result();
      const metas = conversation
        .messages('user')
        .flatMap((message) => UserMessage.safeParse(message).data?.tool_result_meta ?? []);
      const sources = metas.map(({ permission_decision }) => permission_decision?.source);
      assertCompatible(sources.includes('user_temporary'), `it reported ${JSON.stringify(sources)}`);
    },
  },
  {
    id: 'updated-input',
    sentence: 'runs a tool with the input that a person changed',
    reliedOnFor: 'changing a command before allowing it',
    lack: 'changed input is not used',
    needs: ['asks'],
    check: async (environment, signal) => {
      const conversation = await environment.conversation(signal);
      await conversation.say([{ tools: [{ name: 'Bash', input: { command: 'touch written' } }] }, { text: 'Done.' }]);
      const asked = await conversation.asked();
      await conversation.answer(asked, {
        behavior: 'allow',
        updatedInput: { ...asked.input, command: 'touch changed' },
      });
      await conversation.result();
      assertCompatible(!existsSync(join(environment.cwd, 'written')), 'it ran the original input');
      assertCompatible(existsSync(join(environment.cwd, 'changed')), 'it did not run the changed input');
    },
  },
  {
    id: 'question',
    sentence: 'asks its questions over stdio and passes the answers to the model',
    reliedOnFor: 'answering questions on the board',
    lack: 'questions cannot be answered',
    needs: ['initialize'],
    check: async (environment, signal) => {
      const conversation = await environment.conversation(signal);
      const options = ['Red', 'Blue'].map((label) => ({ label, description: `It is ${label}` }));
      const questions = [{ question: 'Which colour?', header: 'Colour', multiSelect: false, options }];
      await conversation.say([{ tools: [{ name: 'AskUserQuestion', input: { questions } }] }, { text: 'Blue it is.' }]);
      const asked = await conversation.asked();
      assertCompatible(asked.toolName === 'AskUserQuestion', `it asked for ${asked.toolName} instead`);
      const updatedInput = { ...asked.input, answers: { 'Which colour?': 'Blue' } };
      await conversation.answer(asked, { behavior: 'allow', updatedInput });
      await conversation.result();
      const said = JSON.stringify(lastToolResult(conversation.modelRequests())?.content ?? null);
      assertCompatible(said.includes('Which colour?') && said.includes('Blue'), `the model read ${said}`);
    },
  },
  {
    id: 'mode',
    sentence: 'confirms a change of the permission mode with a status line',
    reliedOnFor: 'showing the actual mode',
    lack: 'the mode shown may be wrong',
    needs: ['initialize'],
    check: async (environment, signal) => {
      const conversation = await environment.conversation(signal);
      for (const mode of ['acceptEdits', 'default']) {
        await conversation.control({ subtype: 'set_permission_mode', mode });
        await conversation.until(`the status line with the mode ${mode}`, () =>
          conversation.messages('system', 'status').find(({ permissionMode }) => permissionMode === mode),
        );
      }
    },
  },
];

const ToolResult = z.object({ type: z.literal('tool_result'), content: z.unknown(), is_error: z.boolean().nullish() });

/** The newest tool result that the model was shown. */
function lastToolResult(requests: readonly LoggedRequest[]): z.infer<typeof ToolResult> | undefined {
  const blocks = requests.at(-1)?.messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content)) ?? [];
  return blocks.flatMap((block) => ToolResult.safeParse(block).data ?? []).at(-1);
}

/** How the user's and the repository's files affect a session that Callboard starts. */
const settingsChecks: readonly CompatibilityCheck[] = [
  {
    id: 'claude-md',
    sentence: 'gives the model the CLAUDE.md of its folder',
    reliedOnFor: 'passing a repository’s instructions to Claude',
    lack: 'CLAUDE.md does not reach Claude',
    needs: ['initialize'],
    check: async (environment, signal) => {
      const conversation = await environment.conversation(signal);
      await conversation.say([{ text: 'Read.' }]);
      await conversation.result();
      assertCompatible(reported(conversation).includes(REMEMBERED), 'the model did not receive it');
    },
  },
  {
    id: 'settings',
    sentence: "obeys the rules and hooks of the user's settings",
    reliedOnFor: 'enforcing in sessions what a person has forbidden',
    lack: 'rules or hooks of your settings are ignored',
    needs: ['asks'],
    check: async (environment, signal) => {
      const conversation = await environment.conversation(signal);
      const forbidden = { tools: [{ name: 'Bash', input: { command: FORBIDDEN_BY_RULE } }] };
      await conversation.say([forbidden, { tools: [HOOKED_TOOL] }, { text: 'Done.' }]);
      const asked = await conversation.until('the end of the turn', () => {
        if (conversation.messages('result').length > 0) return false;
        return conversation.frames().some(({ kind }) => kind === 'request') || undefined;
      });
      assertCompatible(!asked, 'it asked for approval of what a deny rule or a hook forbids');
      assertCompatible(reported(conversation).includes(FORBIDDEN_TEXT), 'it did not run a hook that denies a tool');
    },
  },
];

/** Everything that the model received. */
const reported = (conversation: TestConversation): string =>
  JSON.stringify(conversation.modelRequests().map(({ system, messages }) => [system, messages]));

/** How messages are delivered, and how the process lives and ends. */
const conversationChecks: readonly CompatibilityCheck[] = [
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

/** All promises, in the order in which they are tried: later ones depend on earlier ones, and the last one ends the process. */
export const compatibilityChecks: readonly CompatibilityCheck[] = [
  ...requestChecks,
  ...answerChecks,
  ...settingsChecks,
  ...conversationChecks,
];

/** The result of our own trial of one release, on Linux x64. */
export const KnownVersion = z.object({
  version: z.string(),
  /** The day of its publication. */
  date: z.iso.date(),
  /** Broken promises, by id, and why. */
  broken: z.record(z.string(), z.string()),
  /** Promises that could not be tried, by id, and why. */
  untried: z.record(z.string(), z.string()),
  /** What is missing because it lacks a flag, in words for people. */
  without: z.array(z.string()),
  /** Of the selected integration tests: how many passed, and the names of those that failed. Null: not run. */
  tests: z.object({ passed: z.int(), failed: z.array(z.string()) }).nullable(),
});
export type KnownVersion = z.infer<typeof KnownVersion>;

export const KnownVersions = z.object({
  /** The time of the trial. */
  at: z.iso.datetime(),
  promises: z.array(z.string()),
  versions: z.array(KnownVersion),
});
export type KnownVersions = z.infer<typeof KnownVersions>;

let known: Promise<KnownVersions> | undefined;

/** The releases that were tried before this Callboard was published. */
function readKnownVersions(): Promise<KnownVersions> {
  known ??= import('./known-versions.json', { with: { type: 'json' } }).then(({ default: list }) =>
    KnownVersions.parse(list),
  );
  return known;
}

/** What is known about a version without trying it, as a report; null if it was not tried with all promises. */
export async function knownReport(version: string): Promise<HandshakeReport | null> {
  const all = await readKnownVersions();
  const found = all.versions.find((one) => one.version === version);
  if (found === undefined || !coversAll(all.promises)) return null;
  const checks = compatibilityChecks.map(({ id, sentence, reliedOnFor, lack }) => {
    const [no, untried] = [found.broken[id], found.untried[id]];
    const verdict =
      no !== undefined ? ('no' as const) : untried !== undefined ? ('untried' as const) : ('yes' as const);
    return { id, sentence, reliedOnFor, lack, verdict, why: no ?? untried ?? null };
  });
  return { version, binary: null, at: all.at, checks };
}

/** Whether these include all current promises. A report of an older Callboard may lack some. */
export const coversAll = (ids: readonly string[]): boolean => compatibilityChecks.every(({ id }) => ids.includes(id));
