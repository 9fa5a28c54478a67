import {
  askedTexts,
  blockedPathText,
  fieldsOf,
  hiddenWarning,
  kindOfField,
  kindOfInput,
  type PendingRequest,
  type Question,
  questionsOf,
  RISK_TEXTS,
  shortDuration,
  type TextKind,
} from '@callboard/contract';
import { indented, type Style, visibleLine, visibleLines } from './text.ts';

const INDENT = '    ';

/** Where and for whom a request is drawn. */
export interface RequestAddress {
  /** Of its stage. */
  readonly title: string;
  /** The worktree of its stage; null if it has none. */
  readonly folder: string | null;
  readonly width: number;
  readonly style: Style;
  readonly now: Date;
}

/** Returns everything that a person decides on, as lines; nothing is left out, and nothing in it commands the terminal. */
export function requestLines(request: PendingRequest, place: RequestAddress): string[] {
  const { title, folder, width, style, now } = place;
  const { stageId, requestId, agent, parentAgent, createdAt } = request;
  const asked = shortDuration(now.getTime() - Date.parse(createdAt));
  const parent = parentAgent === null ? '' : `, started by agent ${visibleLine(parentAgent, 'prose')}`;
  const who = agent === null ? '' : `, by agent ${visibleLine(agent, 'prose')}${parent}`;
  const heading = `${style.call(headingOf(request))} ${style.dim(`asked ${asked} ago${who}`)}`;
  const warning = hiddenWarning(askedTexts(request));
  const risks = request.stakes.map(({ text }) => style.call(`! ${visibleLine(text, 'command')}`));
  return [
    ...indented(
      [
        `${style.bold(`${stageId} ${visibleLine(title, 'prose')}`)} ${style.dim(`request ${visibleLine(requestId, 'command')}`)}`,
      ],
      '',
      width,
    ),
    ...indented([heading], '  ', width),
    ...indented(inputLines(request, style), INDENT, width),
    ...changedLines(request, style, width),
    ...indented([...reasonLines(request, folder), ...risks], '  ', width),
    ...(warning === null ? [] : indented([style.fail(warning)], '  ', width)),
  ];
}

/** Returns what a request asks, as a heading: "Run this command?". */
function headingOf(request: PendingRequest): string {
  const { kind, toolName, displayName, leavesSandbox, input } = request;
  if (leavesSandbox !== null) return 'Run this command outside the sandbox?';
  if (kind === 'question')
    return questionsOf(input).length === 1 ? '1 question' : `${questionsOf(input).length} questions`;
  if (kind === 'plan') return 'Review the plan';
  if (kind === 'network') return 'Connect to this host?';
  if (kind === 'elicitation') return `${visibleLine(displayName, 'prose')} asks for details`;
  return toolName === 'Bash' ? 'Run this command?' : `${visibleLine(toolName, 'command')}?`;
}

/** Returns a request in one line: the command, the file, or the first question. */
export function requestLine(request: PendingRequest): string {
  const { kind, input, toolName } = request;
  if (kind === 'question') return visibleLine(questionsOf(input)[0]?.question ?? '', 'prose');
  if (kind === 'plan') return 'Review the plan';
  const text = (name: string) => (typeof input[name] === 'string' ? input[name] : '');
  if (kind === 'elicitation') return visibleLine(text('message'), 'prose');
  if (kind === 'network') return visibleLine(`Connect to ${text('host')}`, 'command');
  if (toolName === 'Bash') return visibleLine(`$ ${text('command')}`, 'command');
  const object =
    text('file_path') || text('notebook_path') || Object.values(input).find((one) => typeof one === 'string');
  return visibleLine(`${toolName} ${object ?? ''}`, 'command');
}

/** Returns what is at risk in a few words; empty if nothing is known. */
export const risksOf = ({ stakes }: PendingRequest): string =>
  [...new Set(stakes.map(({ code }) => RISK_TEXTS[code]))].join(', ');

/** That a hook changed the call, and what Claude wrote. */
function changedLines({ inputChange, ...request }: PendingRequest, style: Style, width: number): string[] {
  if (inputChange === undefined) return [];
  const who = inputChange.hook === null ? 'A hook' : `The hook ${visibleLine(inputChange.hook, 'command')}`;
  return [
    ...indented([style.call(`! ${who} changed this call. Claude wrote:`)], '  ', width),
    ...indented(inputLines({ ...request, input: inputChange.from }, style), INDENT, width),
  ];
}

function inputLines(request: PendingRequest, style: Style): string[] {
  const { kind, input, toolName } = request;
  if (kind === 'question' && questionsOf(input).length > 0) return questionsOf(input).flatMap(questionLines);
  if (kind === 'elicitation') return formLines(request);
  if (kind === 'plan' && (typeof input.plan !== 'string' || input.plan.trim() === '')) return ['No plan text.'];
  const { command, old_string: old, new_string: text, ...rest } = input;
  const lines: string[] = [];
  if (typeof command === 'string') lines.push(...prefixed('$ ', '  ', visibleLines(command, 'command')));
  else if (command !== undefined) Object.assign(rest, { command });
  for (const [name, value] of Object.entries(rest)) lines.push(...fieldLines(name, value, kindOfInput(toolName)));
  if (old !== undefined) lines.push(...changeLines('-', old, style.fail));
  if (text !== undefined) lines.push(...changeLines('+', text, style.good));
  for (const one of request.commands) lines.push(...prefixed('asked by $ ', '  ', visibleLines(one.text, 'command')));
  return lines;
}

function questionLines(question: Question, index: number): string[] {
  const { header = '', question: text, options = [], multiSelect } = question;
  const many = multiSelect === true ? ' (several may be chosen)' : '';
  return [
    ...prefixed(`${index + 1}. `, '   ', visibleLines(`${header === '' ? '' : `[${header}] `}${text}${many}`, 'prose')),
    ...options.flatMap(({ label, description = '', preview = '' }, at) => [
      ...prefixed(
        `   ${at + 1}) `,
        '      ',
        visibleLines(label + (description === '' ? '' : `: ${description}`), 'prose'),
      ),
      ...(preview === '' ? [] : prefixed('      ', '      ', visibleLines(preview, 'code'))),
    ]),
  ];
}

function formLines({ input }: PendingRequest): string[] {
  const message = typeof input.message === 'string' ? visibleLines(input.message, 'prose') : [];
  const fields = fieldsOf(input).map(({ name, label, description, kind, choices, required }) => {
    const values =
      kind === 'flag' ? 'yes or no' : kind === 'choice' ? choices.map((one) => one.label).join(' | ') : kind;
    const about = description === undefined ? '' : `: ${description}`;
    return visibleLine(`${name} (${values}${required ? ', required' : ''}) ${label}${about}`, 'prose');
  });
  return fields.length > 0
    ? [...message, ...fields]
    : [...message, ...fieldLines('form', input.requested_schema, 'code')];
}

function fieldLines(name: string, value: unknown, kind: TextKind): string[] {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
  const lines = visibleLines(text, typeof value === 'string' ? kindOfField(name, kind) : 'code');
  const label = visibleLine(name, 'command');
  return lines.length === 1 ? [`${label}: ${lines[0]}`] : [`${label}:`, ...prefixed('  ', '  ', lines)];
}

const changeLines = (sign: string, value: unknown, colour: (text: string) => string): string[] =>
  visibleLines(typeof value === 'string' ? value : JSON.stringify(value), 'code').map((line) =>
    colour(`${sign} ${line}`),
  );

const prefixed = (first: string, next: string, lines: readonly string[]): string[] =>
  lines.map((line, index) => `${index === 0 ? first : next}${line}`);

function reasonLines(request: PendingRequest, folder: string | null): string[] {
  const { reason, blockedPath, leavesSandbox, expiresAt, hosts } = request;
  return [
    ...(leavesSandbox?.reason == null
      ? []
      : [`Why outside the sandbox: ${visibleLine(leavesSandbox.reason, 'prose')}`]),
    ...(blockedPath === null ? [] : [visibleLine(blockedPathText(blockedPath, folder), 'command')]),
    ...(reason === null ? [] : [`Why it asks: ${visibleLine(reason, 'prose')}`]),
    ...(hosts === undefined
      ? []
      : [`Needs ${visibleLine(hosts.join(', '), 'command')}: "allow --hosts" lets it reach them while it runs.`]),
    ...(expiresAt === null ? [] : [`Denied automatically at ${expiresAt}.`]),
  ];
}
