import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LoggedRequest } from '@callboard/scripted-model';
import { z } from 'zod';
import { UserMessage } from '../../claude/wire/messages.ts';
import { type ClaudePromise, require } from './claude-promise.ts';

/** What a person's answer does to the conversation. */
export const answerPromises: readonly ClaudePromise[] = [
  {
    id: 'deny-reason',
    sentence: 'hands the reason of a refusal to the model word for word',
    reliedOnFor: 'telling Claude what to do instead',
    lack: 'Claude does not learn why a tool was denied',
    needs: ['asks'],
    keep: async (lab, signal) => {
      const talk = await lab.talk(signal);
      await talk.say([{ tools: [{ name: 'Bash', input: { command: 'touch denied' } }] }, { text: 'I see.' }]);
      const message = 'Not like this: use "tests/"\n— bitte.';
      await talk.answer(await talk.asked(), { behavior: 'deny', message });
      await talk.result();
      const result = lastToolResult(talk.modelRequests());
      require(result?.content === message, `the model read ${JSON.stringify(result?.content)}`);
      require(result.is_error === true, 'the model was not told that it is a refusal');
      require(!existsSync(join(lab.cwd, 'denied')), 'it ran the tool all the same');
    },
  },
  {
    id: 'source',
    sentence: 'tells of each tool who let it run',
    reliedOnFor: 'noticing a hook that allows tools in the place of a person',
    lack: 'tools that a hook allows go unnoticed',
    needs: ['asks'],
    keep: async (lab, signal) => {
      const talk = await lab.talk(signal);
      await talk.say([{ tools: [{ name: 'Bash', input: { command: 'touch let' } }] }, { text: 'Done.' }]);
      await talk.answer(await talk.asked(), { behavior: 'allow' });
      await talk.result();
      const told = talk
        .messages('user')
        .flatMap((message) => UserMessage.safeParse(message).data?.tool_result_meta ?? []);
      const sources = told.map(({ permission_decision }) => permission_decision?.source);
      require(sources.includes('user_temporary'), `it told ${JSON.stringify(sources)}`);
    },
  },
  {
    id: 'updated-input',
    sentence: 'runs the input as a person has changed it',
    reliedOnFor: 'allowing a command in another form than Claude wrote it',
    lack: 'changed input is not used',
    needs: ['asks'],
    keep: async (lab, signal) => {
      const talk = await lab.talk(signal);
      await talk.say([{ tools: [{ name: 'Bash', input: { command: 'touch written' } }] }, { text: 'Done.' }]);
      const asked = await talk.asked();
      await talk.answer(asked, { behavior: 'allow', updatedInput: { ...asked.input, command: 'touch changed' } });
      await talk.result();
      require(!existsSync(join(lab.cwd, 'written')), 'it ran what the model had written');
      require(existsSync(join(lab.cwd, 'changed')), 'it did not run the changed input');
    },
  },
  {
    id: 'question',
    sentence: 'asks its questions over stdio and hands the answers to the model',
    reliedOnFor: 'answering questions on the board',
    lack: 'questions cannot be answered',
    needs: ['initialize'],
    keep: async (lab, signal) => {
      const talk = await lab.talk(signal);
      const options = ['Red', 'Blue'].map((label) => ({ label, description: `It is ${label}` }));
      const questions = [{ question: 'Which colour?', header: 'Colour', multiSelect: false, options }];
      await talk.say([{ tools: [{ name: 'AskUserQuestion', input: { questions } }] }, { text: 'Blue it is.' }]);
      const asked = await talk.asked();
      require(asked.toolName === 'AskUserQuestion', `it asked for ${asked.toolName} instead`);
      const updatedInput = { ...asked.input, answers: { 'Which colour?': 'Blue' } };
      await talk.answer(asked, { behavior: 'allow', updatedInput });
      await talk.result();
      const said = JSON.stringify(lastToolResult(talk.modelRequests())?.content ?? null);
      require(said.includes('Which colour?') && said.includes('Blue'), `the model read ${said}`);
    },
  },
  {
    id: 'mode',
    sentence: 'confirms a change of the permission mode by a status line',
    reliedOnFor: 'showing the mode that really holds',
    lack: 'the mode shown may be wrong',
    needs: ['initialize'],
    keep: async (lab, signal) => {
      const talk = await lab.talk(signal);
      for (const mode of ['acceptEdits', 'default']) {
        await talk.control({ subtype: 'set_permission_mode', mode });
        await talk.until(`the status line with the mode ${mode}`, () =>
          talk.messages('system', 'status').find(({ permissionMode }) => permissionMode === mode),
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
