import { type Finding, UNKNOWN } from './findings.ts';
import { mayFindSecret, pathFindings } from './paths.ts';
import type { Arg } from './shell-word.ts';

/** What all commands of one script share while it is read. */
export interface Script {
  worktree: string | null;
  found: Finding[];
  /** How many scripts this one stands in: `bash -c` within `bash -c`. */
  depth: number;
}

/** The folder that relative paths begin in: known, or not. Commands in parentheses have one of their own. */
export interface Scope {
  folder: string | null;
  isKnown: boolean;
}

/** One command of a script, with what rules about commands ask and tell. */
export interface Call {
  name: string;
  args: readonly Arg[];
  scope: Scope;
  script: Script;
  /** The source of the command, or of the pipeline it stands in. */
  source: string;
  /** Whether something is written into it: it may be a program. */
  hasInput: boolean;
  /** The here-documents that are written into it. */
  heredocs: readonly string[];
  /** Reads a text as a script that runs in the place of the command. */
  readText: (text: string) => void;
}

/** Tells what a command does. @param run tells what another command does, which this one starts */
export type Rule = (call: Call, run: (inner: Call) => void) => void;

type Reported = Omit<Finding, 'command'>;

export const report = ({ script, source }: Call, finding: Reported): void => {
  script.found.push({ ...finding, command: source });
};

export const reportUnknown = (call: Call): void => report(call, UNKNOWN);

/** Tells what is at risk because of a path. */
export function touch(call: Call, arg: Arg, writes: boolean): void {
  const { scope, script } = call;
  const path = arg.text.replaceAll('\0', '*');
  if (!arg.isLiteral || mayFindSecret(path) || (!scope.isKnown && !/^[/~]/.test(path))) reportUnknown(call);
  const place = { folder: scope.folder, worktree: script.worktree, writes };
  for (const found of pathFindings(path, place)) report(call, found);
}

/** The arguments split at their `--`: options before it, and the others. */
export function splitArgs(args: readonly Arg[]): { options: Arg[]; operands: Arg[] } {
  const end = args.findIndex(({ text }) => text === '--');
  const before = end === -1 ? args : args.slice(0, end);
  const isOption = ({ text }: Arg) => text.startsWith('-') && text !== '-';
  return {
    options: before.filter(isOption),
    operands: [...before.filter((arg) => !isOption(arg)), ...(end === -1 ? [] : args.slice(end + 1))],
  };
}

/** Paths within options: `--output=/x`, `-I/x`. */
export function optionPath(arg: Arg): Arg | null {
  const value = /^--[\w-]+=(.+)$/s.exec(arg.text)?.[1] ?? /^-[A-Za-z]([/~].*)$/s.exec(arg.text)?.[1];
  return value === undefined ? null : { ...arg, text: value };
}

const PATH_LIKE = /^[~/][\w@.+\-/~* ]*$|^(?:[\w@.+\-* ]+\/)*\.\.(?:\/[\w@.+\-/~* ]*)?$/;

/** Tells of the paths among the arguments of a command that nothing else is known about. */
export function touchLikely(call: Call): void {
  for (const arg of call.args) {
    const { text } = optionPath(arg) ?? arg;
    const { folder } = call.scope;
    const isSpoken = text.includes(' ') && !text.startsWith('/') && !text.startsWith('~');
    if (isSpoken || text.includes('://')) continue;
    const place = { folder, worktree: call.script.worktree, writes: false };
    const looksLikePath = PATH_LIKE.test(text.replaceAll('\0', '*'));
    const found = pathFindings(text.replaceAll('\0', '*'), place);
    for (const one of found) if (looksLikePath || one.code !== 'outside') report(call, one);
  }
}
