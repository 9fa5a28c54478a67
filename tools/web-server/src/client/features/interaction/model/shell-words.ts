/** The kind of a piece of a shell command. Used for its colour only, never for a decision. */
export type ShellKind = 'command' | 'option' | 'text' | 'variable' | 'operator' | 'comment' | 'plain';
export interface ShellPiece {
  kind: ShellKind;
  text: string;
}

const PIECES =
  /(?<space>\s+)|(?<comment>(?<![^\s;])#[^\n]*)|(?<text>'[^']*'?|"(?:\\[\s\S]|[^"\\])*"?)|(?<variable>\$\{[^}]*\}?|\$[\w@*#?!$-]+|\$\()|(?<operator>&&|\|\||[|&;()]|\d*(?:>>|>&|<<<|<<|[<>])\d*|`)|(?<word>(?:\\[\s\S]|[^\s'"$|&;()<>`\\])+|[\s\S])/gu;

const ASSIGNMENT = /^\w+=/;
const STARTS_COMMAND = /^(?:&&|\|\||[|&;(`]|\$\()$/;
const KEEPS_EXPECTING_COMMAND: ReadonlySet<string> = new Set([
  'sudo',
  'env',
  'time',
  'then',
  'do',
  'else',
  'if',
  'while',
  '!',
  'exec',
  'xargs',
  'nohup',
]);

/** Splits a command into pieces whose texts add up to the command. */
export function shellPieces(command: string): ShellPiece[] {
  const pieces: ShellPiece[] = [];
  let expectsCommand = true;
  let isFresh = true; // at the start of a word
  for (const { groups = {}, 0: text } of command.matchAll(PIECES)) {
    if (groups.space !== undefined) {
      if (text.includes('\n')) expectsCommand = true;
      isFresh = true;
      pieces.push({ kind: 'plain', text });
      continue;
    }
    const kind = kindOf(groups, text, expectsCommand && isFresh, isFresh);
    if (groups.operator !== undefined || text === '$(') {
      expectsCommand = STARTS_COMMAND.test(text) || (expectsCommand && text === '!');
      isFresh = true;
    } else {
      if (isFresh && groups.comment === undefined) expectsCommand = expectsCommand && staysOpen(text);
      isFresh = false;
    }
    pieces.push({ kind, text });
  }
  return pieces;
}

const staysOpen = (word: string) => ASSIGNMENT.test(word) || KEEPS_EXPECTING_COMMAND.has(word);

function kindOf(
  groups: Record<string, string | undefined>,
  text: string,
  isCommand: boolean,
  isFresh: boolean,
): ShellKind {
  if (groups.comment !== undefined) return 'comment';
  if (groups.text !== undefined) return 'text';
  if (groups.variable !== undefined) return 'variable';
  if (groups.operator !== undefined) return 'operator';
  if (isCommand && !ASSIGNMENT.test(text)) return 'command';
  return isFresh && /^--?\w/.test(text) ? 'option' : 'plain';
}
