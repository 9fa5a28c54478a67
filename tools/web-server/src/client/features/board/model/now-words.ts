import type { SessionNow } from '@callboard/contract';
import { toolTitle } from '../../../lib/tool-words.ts';
import { pathIn } from './card-words.ts';

/** What a session does this moment, for its row. */
export interface ActivityText {
  /** `text`: the end of what Claude writes; the newest words are at its end. */
  kind: 'text' | 'command' | 'action';
  text: string;
  /** A path in the text, shortened in its middle if there is no room. */
  path?: string;
  isCode: boolean;
  /** When it began; null if that says nothing. */
  since: string | null;
}

const PREPARES: Readonly<Record<string, string>> = {
  AskUserQuestion: 'writing a question',
  Bash: 'writing a command',
  Edit: 'writing an edit',
  ExitPlanMode: 'writing a plan',
  MultiEdit: 'writing edits',
  NotebookEdit: 'writing an edit',
  Task: 'briefing an agent',
  Agent: 'briefing an agent',
  TodoWrite: 'updating its to-do list',
  Write: 'writing a file',
};

export function activityText(now: SessionNow): ActivityText {
  switch (now.kind) {
    case 'thinking':
      return { kind: 'action', text: 'thinking', isCode: false, since: now.since };
    case 'writing':
      return { kind: 'text', text: now.text, isCode: false, since: null };
    case 'preparing':
      return {
        kind: 'action',
        isCode: false,
        since: null,
        text: PREPARES[now.toolName] ?? `preparing ${toolTitle(now.toolName)}`,
      };
    case 'tool': {
      if (now.isCommand) return { kind: 'command', text: now.action, isCode: true, since: now.since };
      const path = pathIn(now.action);
      const text = { kind: 'action', text: now.action, since: now.since } as const;
      return path === null ? { ...text, isCode: false } : { ...text, isCode: true, path };
    }
    case 'background': {
      const more = now.others === 0 ? '' : ` and ${now.others} more`;
      return { kind: 'action', text: `waits for ${now.action}${more}`, isCode: false, since: now.since };
    }
    case 'review':
      return { kind: 'action', text: 'reviewing the changes', isCode: false, since: now.since };
    case 'check':
      return { kind: 'command', text: now.command, isCode: true, since: now.since };
    default:
      return now satisfies never;
  }
}
