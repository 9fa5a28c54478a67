import type { TestConversation } from '../test-conversation.ts';
import { FORBIDDEN_BY_RULE, FORBIDDEN_WORDS, HOOKED_TOOL, REMEMBERED } from '../test-settings.ts';
import { type ClaudePromise, require } from './claude-promise.ts';

/** What of the user's and the repository's files reaches a session in the mode in which Callboard runs it. */
export const settingsPromises: readonly ClaudePromise[] = [
  {
    id: 'claude-md',
    sentence: 'gives the model the CLAUDE.md of its folder',
    reliedOnFor: 'the instructions of a repository reaching Claude',
    lack: 'CLAUDE.md does not reach Claude',
    needs: ['initialize'],
    keep: async (lab, signal) => {
      const talk = await lab.talk(signal);
      await talk.say([{ text: 'Read.' }]);
      await talk.result();
      require(told(talk).includes(REMEMBERED), 'the model was asked without it');
    },
  },
  {
    id: 'settings',
    sentence: "keeps to the rules and hooks of the user's settings",
    reliedOnFor: 'what a person has forbidden staying forbidden in sessions',
    lack: 'rules or hooks of your settings do not hold',
    needs: ['asks'],
    keep: async (lab, signal) => {
      const talk = await lab.talk(signal);
      const forbidden = { tools: [{ name: 'Bash', input: { command: FORBIDDEN_BY_RULE } }] };
      await talk.say([forbidden, { tools: [HOOKED_TOOL] }, { text: 'Done.' }]);
      const asked = await talk.until('the end of the turn', () => {
        if (talk.messages('result').length > 0) return false;
        return talk.frames().some(({ kind }) => kind === 'request') || undefined;
      });
      require(!asked, 'it asked for what a deny rule forbids, or a hook');
      require(told(talk).includes(FORBIDDEN_WORDS), 'a hook that denies a tool was not run');
    },
  },
];

/** All that the model was given. */
const told = (talk: TestConversation): string =>
  JSON.stringify(talk.modelRequests().map(({ system, messages }) => [system, messages]));
