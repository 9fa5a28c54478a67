import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LoggedRequest } from '@callboard/scripted-model';
import { z } from 'zod';
import { UserMessage } from '../../claude/wire/messages.ts';
import { assertCompatible, type CompatibilityCheck } from './claude-promise.ts';

/** How a person's answer affects the conversation. */
export const answerChecks: readonly CompatibilityCheck[] = [
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
