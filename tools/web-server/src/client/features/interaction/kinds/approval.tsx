import { askedTexts, hiddenWarning, type PendingRequest, visibleText } from '@callboard/contract';
import { shortPath } from '../../../lib/paths.ts';
import { firstLine, PATH_SHOWN } from '../../../lib/request-text.ts';
import { field, filePath, toolText, toolTitle } from '../../../lib/tool-words.ts';
import { isCommand } from '../model/edited-input.ts';
import { commandThatMatters } from '../words/command-that-matters.ts';
import type { RequestKindView } from './shared/definition.ts';

/** A tool call that a person allows or denies. */
export const approval: RequestKindView = {
  name: 'Tool call',
  title({ leavesSandbox, toolName, input }, folder) {
    if (leavesSandbox !== null) return 'Run this command outside the sandbox?';
    const { object } = toolText(toolName, input, folder);
    return TOOLS[toolName]?.title(shortPath(object, PATH_SHOWN)) ?? `Use ${toolTitle(toolName)}?`;
  },
  summary(request, folder) {
    const { leavesSandbox, toolName, input, description } = request;
    if (isCommand(request)) {
      const command = visibleText(commandThatMatters(request), 'command');
      const about = description === null ? {} : { about: visibleText(firstLine(description), 'prose') };
      return leavesSandbox === null
        ? { text: command, isCode: true, ...about }
        : { text: `Outside the sandbox: ${command}`, isCode: true, ...about };
    }
    const { verb, object } = toolText(toolName, input, folder);
    const isOfServer = toolTitle(toolName) !== toolName;
    const text = object !== '' && !isOfServer ? `${verb} ${firstLine(object)}` : verb;
    return filePath(input) === '' || object === '' ? { text } : { text, path: object };
  },
  Body: ({ parts, ...props }) => <parts.ApprovalBody {...props} />,
  denied: 'Denied',
  showsChangedInput: true,
  namesSubject: false,
  canBeGrouped: true,
  isDecidableOnCard,
};

const TOOLS: Readonly<Record<string, { title: (object: string) => string; verb: string }>> = {
  Bash: { title: () => 'Run this command?', verb: 'run' },
  Read: { title: (file) => `Read ${file}?`, verb: 'read' },
  Edit: { title: (file) => `Edit ${file}?`, verb: 'edit' },
  MultiEdit: { title: (file) => `Edit ${file}?`, verb: 'edit' },
  NotebookEdit: { title: (file) => `Edit ${file}?`, verb: 'edit' },
  Write: { title: (file) => `Write ${file}?`, verb: 'write' },
  WebFetch: { title: () => 'Fetch this page?', verb: 'fetch' },
  WebSearch: { title: () => 'Search the web?', verb: 'search the web for' },
};

const MAX_ON_CARD_LENGTH = 60;
const ON_CARD = ['Bash', 'Read', 'WebFetch', 'WebSearch', 'Glob', 'Grep'];

/** Never if the form shows a warning. */
function isDecidableOnCard(request: PendingRequest): boolean {
  const { toolName, input, leavesSandbox } = request;
  if (leavesSandbox !== null || !ON_CARD.includes(toolName)) return false;
  if (toolName === 'Bash' && field(input, 'command').includes('\n')) return false;
  if (hiddenWarning(askedTexts(request)) !== null) return false;
  const { object } = toolText(toolName, input);
  return object !== '' && object.length <= MAX_ON_CARD_LENGTH;
}
