import { askedTexts, hiddenWarning, type PendingRequest, visibleText } from '@callboard/contract';
import { firstLine, PATH_SHOWN } from '../../../lib/format.ts';
import { field, filePath, shortPath, toolText, toolTitle } from '../../../lib/tool-text.ts';
import { isCommand } from '../edited-input.ts';
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

const MAX_LINE_LENGTH = 100;

/**
 * The one line of a command that a person has to see: the whole command if it is short, else the part with the most at risk, or else its
 * first line that is no comment. An ellipsis stands where something is left out.
 */
export function commandThatMatters({ input, stakes }: Pick<PendingRequest, 'input' | 'stakes'>): string {
  const command = field(input, 'command').trim();
  if (!command.includes('\n') && command.length <= MAX_LINE_LENGTH) return command;
  const lines = command.split('\n').map((line) => line.trim());
  const first = lines.find((line) => line !== '' && !line.startsWith('#')) ?? lines[0] ?? '';
  const line = (stakes[0]?.command ?? first).replace(/…$/, '');
  const at = command.indexOf(line);
  return `${at > 0 ? '… ' : ''}${line}${at + line.length < command.length ? ' …' : ''}`;
}
