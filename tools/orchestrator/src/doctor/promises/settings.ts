import type { TestConversation } from '../test-conversation.ts';
import { FORBIDDEN_BY_RULE, FORBIDDEN_TEXT, HOOKED_TOOL, REMEMBERED } from '../test-settings.ts';
import { assertCompatible, type CompatibilityCheck } from './claude-promise.ts';

/** How the user's and the repository's files affect a session that Callboard starts. */
export const settingsChecks: readonly CompatibilityCheck[] = [
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
