import { z } from 'zod';
import { type Flag, isOnCommandLine, parseGiven } from '../command-line/flags.ts';
import { UsageError } from '../errors.ts';
import type { Command } from './command.ts';

/** Words that the running Callboard knows, by the placeholder of what they stand for. They fail silently: a terminal may be logged out. */
const ASKED: Readonly<Record<string, string>> = { STAGE: 'ls --ids', REQUEST: 'pending --ids' };

const optionsOf = ({ flags }: Command) => flags.filter(isOnCommandLine);
const namesOf = (command: Command): string =>
  optionsOf(command)
    .map(({ name }) => `--${name}`)
    .join(' ');
/** The placeholder of what the first word after a command stands for; empty if none may follow. */
const wordOf = ({ flags }: Command): string => flags.find((flag) => flag.kind === 'argument')?.placeholder ?? '';
const takesFile = (placeholder: string) => ['PATH', 'FILE'].includes(placeholder);

/** The words that a placeholder stands for, if they are always the same. */
function textOf(placeholder: string, commands: readonly Command[]): string | null {
  if (placeholder === 'SHELL') return SHELLS.join(' ');
  return placeholder === 'COMMAND' ? commands.map(({ name }) => name).join(' ') : null;
}

/** Options of any command whose value is of this kind, as a pattern of a shell. */
const optionsWith = (commands: readonly Command[], fits: (placeholder: string) => boolean): string => {
  const options = commands.flatMap(optionsOf).filter((flag) => flag.kind === 'value' && fits(flag.placeholder));
  return [...new Set(options.map(({ name }) => `--${name}`))].join('|');
};

/** Returns what completes the word that is no option, as shell commands; an empty list for nothing. */
function wordCases(commands: readonly Command[], asking: (text: string) => string, files: string): string[] {
  return commands.flatMap((command) => {
    const placeholder = wordOf(command);
    const asked = ASKED[placeholder];
    const text = textOf(placeholder, commands);
    const known = text === null ? null : `reply_words ${text}`;
    const what = asked !== undefined ? asking(asked) : takesFile(placeholder) ? files : known;
    return what === null ? [] : [`    ${command.name}) ${what} ;;`];
  });
}

function bash(commands: readonly Command[]): string {
  const files = optionsWith(commands, takesFile);
  const stages = optionsWith(commands, (placeholder) => placeholder === 'STAGE');
  return `# bash completion of callboard. In ~/.bashrc: source <(callboard completion bash)
_callboard() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" program="\${COMP_WORDS[0]}"
  # Words may come from Claude Code; \`compgen -W\` would run what is in them.
  reply_words() {
    local word
    for word; do
      if [[ "$word" == "$cur"* ]]; then printf -v word %q "$word"; COMPREPLY+=("$word"); fi
    done
  }
  reply_files() { local IFS=$'\\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")); }
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    reply_words ${commands.map(({ name }) => name).join(' ')}
    return
  fi
  case "$prev" in
    ${files}) reply_files; return ;;
    ${stages}) reply_words $("$program" ls --ids 2>/dev/null); return ;;
  esac
  if [[ "$cur" == -* ]]; then
    case "\${COMP_WORDS[1]}" in
${commands.map((command) => `      ${command.name}) reply_words ${namesOf(command)} ;;`).join('\n')}
    esac
    return
  fi
  case "\${COMP_WORDS[1]}" in
${wordCases(commands, (asked) => `reply_words $("$program" ${asked} 2>/dev/null)`, 'reply_files').join('\n')}
  esac
}
complete -F _callboard callboard`;
}

/** Quotes a text for a shell, in which a list splits a word from its description at a colon. */
const described = (name: string, help: string): string =>
  `'${`${name.replaceAll(':', '\\:')}:${help.replaceAll(':', '\\:')}`.replaceAll("'", `'\\''`)}'`;

function zsh(commands: readonly Command[]): string {
  const files = optionsWith(commands, takesFile);
  const stages = optionsWith(commands, (placeholder) => placeholder === 'STAGE');
  const options = commands.map((command) => {
    const list = optionsOf(command).map(({ name, help }) => described(`--${name}`, help));
    return `      ${command.name}) list=(${list.join(' ')}) ;;`;
  });
  return `#compdef callboard
# zsh completion of callboard. In ~/.zshrc, after compinit: source <(callboard completion zsh)
_callboard() {
  local -a list
  local program=$words[1]
  reply_words() { compadd -- "$@" }
  if (( CURRENT == 2 )); then
    list=(${commands.map(({ name, summary }) => described(name, summary)).join(' ')})
    _describe 'command' list
    return
  fi
  case $words[CURRENT-1] in
    ${files}) _files; return ;;
    ${stages}) reply_words \${(f)"$($program ls --ids 2>/dev/null)"}; return ;;
  esac
  if [[ $PREFIX == -* ]]; then
    case $words[2] in
${options.join('\n')}
    esac
    _describe 'option' list
    return
  fi
  case $words[2] in
${wordCases(commands, (asked) => `reply_words \${(f)"$($program ${asked} 2>/dev/null)"}`, '_files').join('\n')}
  esac
}
if [[ $funcstack[1] == _callboard ]]; then _callboard "$@"; else compdef _callboard callboard; fi`;
}

const fishQuoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function fish(commands: readonly Command[]): string {
  const lines = commands.flatMap((command) => {
    const { name, summary } = command;
    const when = `-n '__fish_seen_subcommand_from ${name}'`;
    const placeholder = wordOf(command);
    const asked = ASKED[placeholder];
    const text = textOf(placeholder, commands);
    return [
      `complete -c callboard -n __fish_use_subcommand -a ${name} -d ${fishQuoted(summary)}`,
      ...optionsOf(command).map(
        (flag) => `complete -c callboard ${when} -l ${flag.name}${valuesOf(flag)} -d ${fishQuoted(flag.help)}`,
      ),
      ...(asked === undefined ? [] : [`complete -c callboard ${when} -a '(callboard ${asked} 2>/dev/null)'`]),
      ...(text === null ? [] : [`complete -c callboard ${when} -a '${text}'`]),
      ...(takesFile(placeholder) ? [`complete -c callboard ${when} -F`] : []),
    ];
  });
  return [
    '# fish completion of callboard. Keep it as ~/.config/fish/completions/callboard.fish',
    'complete -c callboard -f',
    ...lines,
  ].join('\n');
}

function valuesOf(flag: Flag): string {
  if (flag.kind !== 'value') return '';
  if (takesFile(flag.placeholder)) return ' -r -F';
  const asked = ASKED[flag.placeholder];
  return asked === undefined ? ' -x' : ` -x -a '(callboard ${asked} 2>/dev/null)'`;
}

/** The scripts that complete commands, options, stages and open requests, by shell. */
const scripts = { bash, zsh, fish };
const SHELLS = ['bash', 'zsh', 'fish'] as const;

const schema = z.object({
  shell: z.enum(SHELLS, { error: `must be one of ${SHELLS.join(', ')}` }).optional(),
});

/**
 * `callboard completion`: prints the script that completes command lines in a shell.
 * @param all every command, asked for when it runs
 */
export function createCompletion(all: () => readonly Command[]): Command {
  return {
    name: 'completion',
    summary: 'Prints a completion script for bash, zsh or fish.',
    flags: [{ kind: 'argument', name: 'shell', placeholder: 'SHELL', required: true, help: 'bash, zsh or fish.' }],
    run: async ({ given, platform }) => {
      const { shell } = parseGiven(schema, given);
      if (shell === undefined) throw new UsageError('name the shell: npx callboard completion bash, zsh or fish');
      platform.out(scripts[shell](all()));
      return 0;
    },
  };
}
