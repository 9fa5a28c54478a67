import { dirname, normalize } from 'node:path';

/**
 * Whether a rule lets a call through, together with others that apply as well. `yes` only where it is certain (CLI 2.1.330, tried): a
 * part of a command that is neither the exact text of a rule nor begins like one leaves it unsure.
 */
export function ruleMatch(rule: string, call: ToolCall, others: readonly string[] = []): Match {
  const { toolName, input } = call;
  const { name, content } = partsOf(rule);
  if (coversAll(name, content) && (name === toolName || isServerOf(name, toolName))) return 'yes';
  if (toolName !== 'Bash') return ruleCovers(rule, call) ? otherMatch(name, content, call) : 'no';
  const command = typeof input.command === 'string' ? input.command : '';
  const split = splitCommand(command);
  if (split === null) return ruleCovers(rule, call) ? 'unsure' : 'no';
  const fits = (part: string) => fitsExactly(rule, part);
  if (!split.parts.some(fits)) return ruleCovers(rule, call) ? 'unsure' : 'no';
  const rest = split.parts.filter((part) => !fits(part));
  return rest.every((part) => others.some((other) => fitsExactly(other, part))) ? 'yes' : 'unsure';
}

/** Whether the rule surely allows one of the commands that a call is made of, or all of another call. */
export function hasPart(rule: string, call: ToolCall): boolean {
  if (ruleMatch(rule, call) === 'yes') return true;
  const split =
    call.toolName === 'Bash' && typeof call.input.command === 'string' ? splitCommand(call.input.command) : null;
  return split?.parts.some((part) => fitsExactly(rule, part)) ?? false;
}

function partsOf(rule: string): { name: string; content: string | undefined } {
  const [, name = '', content] = RULE.exec(rule.trim()) ?? [];
  return { name, content };
}

const coversAll = (name: string, content: string | undefined): boolean =>
  name !== '' && (content === undefined || content === '*');

/** A whole MCP server: `mcp__tracker` or `mcp__tracker__*`. */
function isServerOf(name: string, toolName: string): boolean {
  const server = /^(mcp__[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*)(?:__\*)?$/.exec(name)?.[1];
  return server !== undefined && toolName.startsWith(`${server}__`);
}

/** The tools whose calls a rule about files covers: `Edit` stands for all that edit. */
const RULED_BY: Readonly<Record<string, string>> = {
  Edit: 'Edit',
  Write: 'Edit',
  MultiEdit: 'Edit',
  NotebookEdit: 'Edit',
  Read: 'Read',
};

/** Whether a rule for something else than a command lets a call through. */
function otherMatch(name: string, content: string | undefined, call: ToolCall): Match {
  const { toolName, input, folder = null } = call;
  if (toolName === 'WebFetch' && name === toolName && content !== undefined) return siteMatch(content, input.url);
  const ruledBy = RULED_BY[toolName];
  const path = input.file_path ?? input.notebook_path;
  if (ruledBy === undefined || typeof path !== 'string') return 'unsure';
  // `Write(src/**)` covers no file, and `Edit` alone only the tool of that name (2.1.330, tried).
  if (name !== ruledBy || content === undefined) return name in RULED_BY ? 'no' : 'unsure';
  return pathMatch(content, { path, folder, isEdit: ruledBy === 'Edit' });
}

/** A host is compared as a whole; `*.` before it stands for every host below it, and not for itself. */
function siteMatch(content: string, url: unknown): Match {
  const [, star, domain] = /^domain:(\*\.)?([a-z0-9.-]+)$/.exec(content) ?? [];
  const host = typeof url === 'string' ? webHost(url) : null;
  if (domain === undefined || host === null) return 'unsure';
  return (star === undefined ? host === domain : host.endsWith(`.${domain}`)) ? 'yes' : 'no';
}

/** Whether a simple command is the text of a rule, or begins with its words: `npm run *`, `npm run:*`. */
function fitsExactly(rule: string, part: string): boolean {
  const { name, content } = partsOf(rule);
  if (name !== 'Bash') return false;
  if (content === undefined || content === '*') return true;
  const prefix = /^([^*]+?)(?: \*|:\*)$/.exec(content)?.[1];
  if (prefix !== undefined) return part === prefix || part.startsWith(`${prefix} `);
  return !content.includes('*') && part === content;
}

/** A file that a tool call is about, and the folder that its rules are relative to; null if that is unknown. */
interface RuledFile {
  path: string;
  folder: string | null;
  isEdit: boolean;
}

/** A name in a pattern in which only `*` has a meaning of its own. */
const NAME = /^[\w.@+ *-]+$/;
const MAX_STARS = 4;
/** `src/`, `src/*` and `src/**` are all that is below `src` (CLI 2.1.330, tried). */
const BELOW = /\/(?:\*\*?)?$/;

/**
 * Whether the path of a rule such as `Edit(src/**)` covers a file, as Claude Code compares them (2.1.330, tried): `//` begins at
 * the root, a pattern with a slash in its middle at the folder of the session, a single name anywhere below that; a folder
 * stands for all that is in it, and case makes no difference. `unsure` for every other pattern, and for an edit of what Claude
 * Code protects. Links are not followed: Claude Code compares where they lead, too.
 */
function pathMatch(pattern: string, { path: asked, folder, isEdit }: RuledFile): Match {
  const path = asked.startsWith('/') || folder === null ? asked : `${folder}/${asked}`;
  if (!path.startsWith('/') || normalize(path) !== path) return 'unsure';
  const isAbsolute = pattern.startsWith('//');
  const wanted = isAbsolute ? pattern.slice(2) : pattern.replace(/^\.\//, '');
  const names = wanted.replace(BELOW, '').split('/');
  if (!isComparable(names) || (!isAbsolute && folder === null)) return 'unsure';
  const inFolder = folder !== null && path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : null;
  if (!isAbsolute && inFolder === null) return 'no';
  const file = isAbsolute ? path.slice(1) : (inFolder ?? '');
  const isAnchored = isAbsolute || wanted.replace(/\/$/, '').includes('/');
  const regex = new RegExp(`^${isAnchored ? '' : '(?:.*/)?'}${regexOf(names)}(?:/.*)?$`, 'i');
  // What is below a folder is not the folder itself.
  if (!regex.test(BELOW.test(wanted) ? dirname(file) : file)) return 'no';
  return isEdit && isProtected(inFolder ?? path) ? 'unsure' : 'yes';
}

function isComparable(names: readonly string[]): boolean {
  const stars = names.join('/').split('*').length - 1;
  return stars <= MAX_STARS && names.every((name) => NAME.test(name) && name !== '.' && name !== '..');
}

/** `*` stands for a part of a name, `**` for any number of folders. */
const regexOf = (names: readonly string[]): string =>
  names
    .map((name, index) => {
      const isLast = index === names.length - 1;
      if (name === '**') return isLast ? '.*' : '(?:.*/)?';
      const text = name.replaceAll(/[.+]/g, String.raw`\$&`).replaceAll(/\*+/g, '[^/]*');
      return isLast ? text : `${text}/`;
    })
    .join('');

/** Whether Claude Code may ask about an edit whatever its rules say, as it does in `.git`, `.claude` and `.vscode`. */
const isProtected = (path: string): boolean => path.split('/').some((name) => name.startsWith('.'));

/** The parts of a tool call that a rule can match. */
export interface ToolCall {
  toolName: string;
  input: Readonly<Record<string, unknown>>;
  /** The folder that the session works in, for rules about files; left out or null if unknown. */
  folder?: string | null;
}

/** Whether rules let a call through: `unsure` where only Claude Code could tell. */
export type Match = 'yes' | 'no' | 'unsure';

/** The name and the content of a rule. */
export const RULE = /^([^()]+?)(?:\((.*)\))?$/s;

/**
 * Whether a permission rule such as `Bash(npm run *)` may have allowed a call. For Bash each part of a compound command is
 * compared; for other tools only the name, since only Claude Code knows what a path or an address means.
 */
export function ruleCovers(rule: string, { toolName, input }: ToolCall): boolean {
  const match = RULE.exec(rule.trim());
  const [, name = '', content] = match ?? [];
  if (!coversName(name, toolName)) return false;
  if (content === undefined || content === '' || content === '*' || toolName !== 'Bash') return true;
  const command = typeof input.command === 'string' ? input.command : '';
  return command.split(/&&|\|\||[;|&\n]/).some((part) => fits(content, part.trim()));
}

function coversName(name: string, toolName: string): boolean {
  if (name === toolName || fits(name, toolName)) return true;
  if (name === 'Read') return ['Glob', 'Grep'].includes(toolName);
  if (name === 'Edit') return ['Write', 'MultiEdit', 'NotebookEdit'].includes(toolName);
  // A whole MCP server.
  return name.startsWith('mcp__') && toolName.startsWith(`${name}__`);
}

/** Patterns are `npm run *`, `npm run:*`, or the exact text. */
function fits(pattern: string, text: string): boolean {
  const parts = pattern.replace(/:\*$/, '*').replace(/ \*$/, '*').split('*');
  const [first = '', ...others] = parts;
  if (others.length === 0) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const [index, part] of others.entries()) {
    if (index === others.length - 1) return part === '' || (text.endsWith(part) && text.length - part.length >= at);
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return true;
}

/** A command that was split into the simple commands that it is made of. */
export interface SplitCommand {
  parts: string[];
  /** Output or input of a part is redirected, harmlessly. */
  isRedirected: boolean;
}

/** What joins simple commands. A single `&` is none of them: what runs in the background is asked for anyway (CLI 2.1.330). */
const OPERATOR = /&&|\|\||;|\|/y;
/** Redirections that Claude Code overlooks when it compares a command with a rule (2.1.330, tried). */
const HARMLESS = / +(?:[12]?> ?\/dev\/null|2>&1|< ?\/dev\/null)(?= |$|&&|\|\||;|\|)/y;
const SINGLE_QUOTED = /'[^']*'/y;
const DOUBLE_QUOTED = /"[^"$`\\!]*"/y;
/** One character that the shell takes as it is, or as a part of a file pattern. */
const PLAIN = /[^\s'"`$\\(){}<>&;|#!\p{C}]| /uy;

/**
 * Splits a command at `&&`, `||`, `;` and `|`. Returns null unless every character is understood: a substitution, a variable, a
 * redirection into a file, a heredoc, a subshell, a comment, an escape or several lines make a command that no rule is compared with here.
 */
export function splitCommand(command: string): SplitCommand | null {
  const text = command.trim();
  const parts = [''];
  let isRedirected = false;
  let at = 0;
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const [found] = pattern.exec(text) ?? [];
    if (found === undefined) return null;
    at += found.length;
    return found;
  };
  while (at < text.length) {
    if (take(HARMLESS) !== null) {
      isRedirected = true;
      continue;
    }
    if (take(OPERATOR) !== null) {
      parts.push('');
      continue;
    }
    const piece = take(SINGLE_QUOTED) ?? take(DOUBLE_QUOTED) ?? take(PLAIN);
    if (piece === null) return null;
    parts.push(`${parts.pop() ?? ''}${piece}`);
  }
  const trimmed = parts.map((part) => part.trim());
  return trimmed.some((part) => part === '' || part.startsWith('-')) ? null : { parts: trimmed, isRedirected };
}

/** Words that begin something other than a simple command, run another command, or change what later ones mean. */
const NOT_SIMPLE = new Set(
  (
    'if then else elif fi for while until do done case esac function select time coproc ' +
    'eval exec source . sudo doas su env xargs command builtin nohup nice timeout stdbuf setsid watch trap ' +
    'export unset alias set cd pushd popd'
  ).split(' '),
);
const COMMAND_WORD = /^[A-Za-z0-9_./@+-]+$/;
/** They would mean something else in a rule, be read as its end, or break its line, also where they are quoted. */
const MEANS_MORE = /[*()\\\r\n]|:$/;
const MAX_PART_LENGTH = 300;

/** Whether a simple command can be a rule of its own: exactly this text. */
export function isExact(part: string): boolean {
  const word = part.split(' ', 1)[0] ?? '';
  return part.length <= MAX_PART_LENGTH && COMMAND_WORD.test(word) && !NOT_SIMPLE.has(word) && !MEANS_MORE.test(part);
}

/** The host of a web address, as every client reads it; null for anything else. */
export function webHost(address: string): string | null {
  if (!URL.canParse(address)) return null;
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' || protocol === 'http:' ? hostname : null;
}
