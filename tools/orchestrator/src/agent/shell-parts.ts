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
/** They would mean something else in a rule, or be read as its end. */
const MEANS_MORE = /[*()\\]|:$/;
const MAX_PART_LENGTH = 300;

/** Whether a simple command can be a rule of its own: exactly this text. */
export function isExact(part: string): boolean {
  const word = part.split(' ', 1)[0] ?? '';
  return part.length <= MAX_PART_LENGTH && COMMAND_WORD.test(word) && !NOT_SIMPLE.has(word) && !MEANS_MORE.test(part);
}
