import { type Call, type Rule, report, reportUnknown, splitArgs, touchLikely } from './call.ts';
import { FILE_COMMANDS } from './file-commands.ts';
import { git } from './git-commands.ts';
import { NETWORK_COMMANDS } from './network-commands.ts';
import { READERS } from './readers.ts';
import { isHarmlessVariable } from './variables.ts';

interface Wrapper {
  /** Options whose value stands in the next argument. */
  valued?: RegExp;
  /** Options that hide what runs. */
  hides?: RegExp;
  /** How many operands stand before the command. */
  before?: number;
  /** Whether `NAME=value` may stand before the command. */
  setsVariables?: true;
  /** Whether the command gets arguments that nobody knows. */
  addsArgs?: true;
  /** Whether it runs with the rights of another user. */
  asOther?: true;
}

/** A command that runs the command in its arguments. */
const wraps =
  (wrapper: Wrapper): Rule =>
  (call, run) => {
    if (wrapper.asOther === true) report(call, { code: 'privileges', lead: `Runs as another user (${call.name})` });
    if (wrapper.addsArgs === true) reportUnknown(call);
    const at = commandAt(call, wrapper);
    const inner = call.args[at];
    if (inner === undefined) return noCommand(call, wrapper);
    if (!inner.isLiteral || inner.mayBecomeOption) return reportUnknown(call);
    run({ ...call, name: inner.text, args: call.args.slice(at + 1) });
  };

/** Where the command begins that a wrapper runs. */
function commandAt(call: Call, { valued, hides, before = 0, setsVariables }: Wrapper): number {
  let at = 0;
  let left = before;
  for (; at < call.args.length; at += 1) {
    const { text, isLiteral } = call.args[at] ?? { text: '', isLiteral: true };
    if (text === '--') return at + 1 + left;
    if (!isLiteral || hides?.test(text) === true) reportUnknown(call);
    const variable = setsVariables === true ? /^(\w+)=/.exec(text)?.[1] : undefined;
    if (variable !== undefined) {
      if (!isHarmlessVariable(variable)) reportUnknown(call);
    } else if (text.startsWith('-')) {
      if (valued?.test(text) === true) at += 1;
    } else if (left > 0) left -= 1;
    else return at;
  }
  return at;
}

function noCommand(call: Call, { setsVariables, asOther }: Wrapper): void {
  if (call.name === 'env')
    report(call, { code: 'credentials', lead: 'Shows environment variables, which may hold credentials' });
  else if (setsVariables === true || asOther === true || call.args.length > 0) reportUnknown(call);
}

/** `bash -c text`: reads the text; whatever else a shell runs is unknown. */
const shell: Rule = (call) => {
  const at = call.args.findIndex(({ text }) => /^-[a-z]*c$/.test(text));
  const text = call.args[at + 1];
  for (const heredoc of call.heredocs) call.readText(heredoc);
  const isPlain = call.args.slice(0, at).every(({ text: option }) => /^-[celux]+$/.test(option));
  const isRead = at !== -1 && text !== undefined && text.isLiteral && !call.hasInput && isPlain;
  if (at !== -1 && text !== undefined) call.readText(text.text.replaceAll('\0', '_unknown_'));
  if (!isRead) reportUnknown(call);
  touchLikely({ ...call, args: call.args.filter((arg) => arg !== text) });
};

/** `eval text`: what it evaluates, where it is known; it may set what later commands mean. */
const evaluates: Rule = (call) => {
  if (call.name === 'eval') call.readText(call.args.map(({ text }) => text.replaceAll('\0', '_unknown_')).join(' '));
  reportUnknown(call);
  touchLikely(call);
};

/** `export X=1`. The assignments themselves are read where they stand. */
const declares: Rule = (call) => {
  const { operands, options } = splitArgs(call.args);
  const isKnown = operands.every(({ text }) => isHarmlessVariable(/^\w+/.exec(text)?.[0] ?? ''));
  if (!isKnown || options.length > 0) reportUnknown(call);
};

/** `set -e`: options that change how the script runs, and nothing it does. */
const options: Rule = (call) => {
  if (call.args.some(({ text }) => !/^[-+][euxo]+$|^(?:pipefail|errexit|nounset|xtrace)$/.test(text)))
    reportUnknown(call);
};

const names = (list: string, rule: Rule): [string, Rule][] => list.split(' ').map((name) => [name, rule]);

const RULES: ReadonlyMap<string, Rule> = new Map([
  ...READERS,
  ...FILE_COMMANDS,
  ...NETWORK_COMMANDS,
  ['git', git],
  ...names(
    'sudo doas pkexec',
    wraps({
      asOther: true,
      setsVariables: true,
      valued: /^(?:-[ugpCcDhRrTtU]|--(?:user|group|host|prompt|chdir|role|type|other-user))$/,
      hides: /^-[a-zA-Z]*[sie]$|^--(?:shell|login|edit)/,
    }),
  ),
  ...names('su runuser', (call) => {
    report(call, { code: 'privileges', lead: `Runs as another user (${call.name})` });
    shell(call, () => {});
  }),
  ...names(
    'env',
    wraps({ setsVariables: true, valued: /^(?:-u|--unset|-C|--chdir|-S)$/, hides: /^(?:-S|--split|-C|--chdir)/ }),
  ),
  ...names(
    'time nohup setsid builtin nocorrect noglob stdbuf unbuffer',
    wraps({ valued: /^-[ioef]$/, hides: /^-[ioep]/ }),
  ),
  [
    'command',
    (call, run) => {
      // `command -v` only finds a program.
      if (call.args[0]?.text.toLowerCase() !== '-v') wraps({})(call, run);
    },
  ],
  ...names('nice ionice', wraps({ valued: /^-[ncp]$/ })),
  ...names('timeout gtimeout', wraps({ valued: /^(?:-[ks]|--(?:kill-after|signal))$/, before: 1 })),
  ...names('xargs', wraps({ addsArgs: true, valued: /^-[IidEnLPsa]$/ })),
  ...names('parallel watch exec chroot strace ltrace flock', wraps({ addsArgs: true, valued: /^-[neajIu]$/ })),
  ...names('sh bash zsh dash ksh ash fish', shell),
  ...names('eval source . trap', evaluates),
  ...names('export declare typeset readonly', declares),
  ['set', options],
] satisfies (readonly [string, Rule])[]);

const USUAL_FOLDER = /^\/(?:usr\/(?:local\/)?)?s?bin\//;
const DEEPEST = 30;

/** Tells what a command of a script does; unknown if no rule is about it. */
export function runCommand(call: Call, depth = 0): void {
  const isPath = call.name.includes('/');
  const name = call.name.slice(call.name.lastIndexOf('/') + 1);
  const rule = RULES.get(name);
  // A file of the same name elsewhere may be anything.
  if (rule === undefined || (isPath && !USUAL_FOLDER.test(call.name)) || depth > DEEPEST) reportUnknown(call);
  if (depth > DEEPEST) return;
  if (rule === undefined) touchLikely(call);
  else rule({ ...call, name }, (inner) => runCommand(inner, depth + 1));
}
