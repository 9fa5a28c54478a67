import type { PendingRequest, Risk, ToolInput } from '@callboard/contract';
import { type Command, forEachChild, type Pipeline, parse, type Redirect, type SyntaxNode } from 'unbash';
import { textField } from '../agent-event.ts';
import { FILE_COMMANDS, git, NETWORK_COMMANDS } from './command-risks.ts';
import {
  argOf,
  type Call,
  type Finding,
  hostOf,
  isHarmlessVariable,
  literalOf,
  namesSecret,
  pathFindings,
  READERS,
  type Rule,
  report,
  reportUnknown,
  risksFrom,
  type Scope,
  type Script,
  type ScriptCommand,
  splitArgs,
  touch,
  touchLikely,
  UNKNOWN,
} from './shell-call.ts';

type Asked = Pick<PendingRequest, 'kind' | 'toolName' | 'input' | 'blockedPath'>;

/**
 * What is known to be at risk in a request, the gravest first. Empty only for what is known to read files of the worktree and do nothing
 * else, and for requests that run nothing. Never throws.
 */
export function risksOf(asked: Asked, worktree: string | null): Risk[] {
  try {
    return risksFrom(findingsOf(asked, worktree));
  } catch {
    return risksFrom([{ ...UNKNOWN, command: null }]);
  }
}

function findingsOf({ kind, toolName, input, blockedPath }: Asked, worktree: string | null): Finding[] {
  if (kind === 'network') return [network('Connects to', textField(input, 'host'))];
  if (kind !== 'approval') return [];
  const found = toolFindings(toolName, input, worktree);
  if (blockedPath === null || toolName === 'Bash') return found;
  return [...found, ...touched([blockedPath], worktree, true)];
}

const READS = ['Read', 'Glob', 'Grep', 'LS', 'NotebookRead'];
const WRITES = ['Write', 'Edit', 'MultiEdit', 'NotebookEdit'];
/** They run nothing themselves: what an agent does is asked for on its own. */
const RUNS_NOTHING = ['Task', 'Agent', 'TodoWrite', 'TaskOutput', 'BashOutput'];

function toolFindings(toolName: string, input: ToolInput, worktree: string | null): Finding[] {
  if (toolName === 'Bash') return shellFindings(textField(input, 'command'), worktree);
  if (READS.includes(toolName)) return touched(pathsIn(input, toolName === 'Glob'), worktree, false);
  if (WRITES.includes(toolName)) return touched(pathsIn(input, false), worktree, true);
  if (RUNS_NOTHING.includes(toolName)) return [];
  if (toolName === 'WebFetch') return [network('Fetches a page from', hostOf(textField(input, 'url')) ?? '')];
  if (toolName === 'WebSearch') return [network('Searches the web', '')];
  return [{ ...UNKNOWN, command: null }];
}

const network = (lead: string, host: string): Finding =>
  host === '' && lead !== 'Searches the web'
    ? { code: 'network', lead: 'Uses the network', command: null }
    : { code: 'network', lead, subject: host === '' ? undefined : host, command: null };

/** The paths that a call names. A pattern of Glob is one if it searches elsewhere. */
function pathsIn(input: ToolInput, withPattern: boolean): string[] {
  const paths = ['file_path', 'notebook_path', 'path', 'glob'].map((name) => textField(input, name));
  const pattern = withPattern ? textField(input, 'pattern') : '';
  return [...paths, pattern].filter((path) => path !== '');
}

const touched = (paths: readonly string[], worktree: string | null, writes: boolean): Finding[] =>
  paths
    .flatMap((path) => pathFindings(path, { folder: worktree, worktree, writes }))
    .map((found) => ({ ...found, command: null }));

/** Longer commands are not parsed. */
const MAX_SCRIPT_LENGTH = 100_000;
const MAX_NODES = 30_000;
const MAX_SHELL_DEPTH = 5;
/** How many `$(...)` may stand in one another: each is parsed again. */
const DEEPEST_EXPANSION = 8;

/** What a shell command does, as far as a parser can tell. What it cannot tell is found as unknown. */
function shellFindings(command: string, worktree: string | null): Finding[] {
  return readShell(command, worktree).found;
}

/** The commands that a shell command runs, as far as a parser can tell, also within `bash -c` and behind `env` or `timeout`. Never throws. */
export function commandsIn(command: string, worktree: string): ScriptCommand[] {
  try {
    return readShell(command, worktree).commands;
  } catch {
    return [];
  }
}

function readShell(command: string, worktree: string | null): Script {
  const script: Script = { worktree, found: [], commands: [], depth: 0 };
  readScript(command, script, { folder: worktree, isKnown: true });
  return script;
}

/** Reads a script, or one within another: the text of `bash -c`. */
function readScript(text: string, script: Script, scope: Scope): void {
  if (text.length > MAX_SCRIPT_LENGTH || script.depth > MAX_SHELL_DEPTH) {
    script.found.push({ ...UNKNOWN, command: null });
    return;
  }
  const walk = { script: { ...script, depth: script.depth + 1 }, left: MAX_NODES };
  try {
    readNode(parse(text), { walk, scope, text, pipeline: null, isFed: false, depth: 0 });
  } catch {
    script.found.push({ ...UNKNOWN, command: null });
  }
}

interface Location {
  walk: { script: Script; left: number };
  scope: Scope;
  /** The source that positions of nodes refer to. */
  text: string;
  /** The source of the pipeline around it. */
  pipeline: string | null;
  /** Whether another command writes into it. */
  isFed: boolean;
  /** How many `$(...)` it stands in. */
  depth: number;
}

function note({ walk, text, pipeline }: Location, node: SyntaxNode): void {
  walk.script.found.push({ ...UNKNOWN, command: pipeline ?? text.slice(node.pos, node.end) });
}

function readNode(node: SyntaxNode, location: Location): void {
  location.walk.left -= 1;
  if (location.walk.left < 0) throw new Error('The script is too large.');
  if (node.type === 'Pipeline') {
    readPipeline(node, location);
    return;
  }
  const inner = enter(node, location);
  forEachChild(node, (child) => readNode(child, inner));
}

/** Tells what a part of a script does, but for the parts within it. Returns the place in which those stand. */
function enter(node: SyntaxNode, location: Location): Location {
  const { scope, text } = location;
  const ownScope = { ...location, scope: { ...scope } };
  switch (node.type) {
    case 'Script': {
      const inner = { ...location, text: node.source ?? text };
      if ('errors' in node && node.errors !== undefined) note(inner, node);
      return inner;
    }
    case 'Command':
      readCommand(node, location);
      return { ...ownScope, pipeline: location.pipeline ?? text.slice(node.pos, node.end) };
    case 'Function':
    case 'Coproc':
      note(location, node);
      return ownScope;
    case 'Subshell':
      return { ...ownScope, pipeline: null };
    case 'CommandExpansion':
    case 'ProcessSubstitution':
      if (location.depth >= DEEPEST_EXPANSION) throw new Error('The script is nested too deeply.');
      if (node.script === undefined) note(location, node);
      return { ...ownScope, pipeline: null, depth: location.depth + 1 };
    case 'Assignment':
      if (!isHarmlessVariable(node.name)) note(location, node);
      return location;
    case 'For':
    case 'Select':
      if (!isHarmlessVariable(literalOf(node.name) ?? '')) note(location, node);
      return location;
    case 'Redirect':
      readRedirect(node, location);
      return location;
    default:
      readExpansion(node, location);
      return location;
  }
}

function readExpansion(node: SyntaxNode, location: Location): void {
  if (!isHarmlessExpansion(node)) note(location, node);
  if (node.type === 'ParameterExpansion' && namesSecret(node.parameter)) noteSecret(location, node.parameter);
  if (node.type === 'SimpleExpansion' && namesSecret(node.text)) noteSecret(location, node.text);
}

const noteSecret = ({ walk, pipeline }: Location, subject: string) =>
  walk.script.found.push({ code: 'credentials', lead: 'Uses the secret in', subject, command: pipeline });

const FETCHES = /^(?:curl|wget|fetch|http|https|aria2c|nc|ncat|ssh)$/;
const RUNS_INPUT = /^(?:(?:ba|z|da|k|a|fi)?sh|python[\d.]*|node|perl|ruby|php|deno|bun|eval|source|xargs|sudo|env)$/;

function readPipeline({ commands, pos, end }: Pipeline, location: Location): void {
  const pipeline = location.text.slice(pos, end);
  const names = commands.map((node) => (node.type === 'Command' ? literalOf(node.name) : null) ?? '');
  const from = names.findIndex((name) => FETCHES.test(name));
  if (from !== -1 && names.slice(from + 1).some((name) => RUNS_INPUT.test(name)))
    location.walk.script.found.push({ code: 'network', lead: 'Runs code fetched from the network', command: pipeline });
  for (const [index, node] of commands.entries())
    readNode(node, { ...location, pipeline, scope: { ...location.scope }, isFed: index > 0 });
}

function readCommand(node: Command, location: Location): void {
  const { name, redirects } = node;
  if (name === undefined) return;
  const { walk, scope, text, pipeline, isFed } = location;
  const known = literalOf(name);
  const heredocs = redirects.flatMap((redirect) => (redirect.type === 'HereDoc' ? [redirect.body.text] : []));
  const call: Call = {
    name: known ?? '',
    args: node.args.map(argOf),
    scope,
    script: walk.script,
    source: pipeline !== null && !pipeline.includes('\n') ? pipeline : text.slice(node.pos, node.end),
    hasInput: isFed || redirects.some(({ type, operator }) => type !== 'Redirect' || operator.startsWith('<')),
    heredocs,
    readText: (inner) => readScript(inner, walk.script, { ...scope }),
  };
  const setsVariables = node.prefix.some((part) => part.type === 'Assignment' && !isHarmlessVariable(part.name));
  if (setsVariables || known === null || known === '') reportUnknown(call);
  if (known !== null && known !== '') runCommand(call);
}

const OPENS_SOCKET = /^\/dev\/(?:tcp|udp)\/([^/]+)/;

function readRedirect(node: Redirect, location: Location): void {
  const { operator, target } = node;
  if (target === undefined) {
    note(location, node);
    return;
  }
  const arg = argOf(target);
  const copiesDescriptor = (operator === '>&' || operator === '<&') && /^(?:\d+-?|-)$/.test(arg.text);
  if (copiesDescriptor) return;
  const call: Call = {
    name: '',
    args: [],
    hasInput: false,
    heredocs: [],
    readText: () => {},
    scope: location.scope,
    script: location.walk.script,
    source: location.pipeline ?? location.text.slice(node.pos, node.end),
  };
  const socket = OPENS_SOCKET.exec(arg.text)?.[1];
  const writes = operator !== '<' && operator !== '<&';
  if (socket !== undefined) report(call, { code: 'network', lead: 'Uses the network:', subject: socket });
  else {
    if (writes && !arg.text.startsWith('/dev/'))
      report(call, { code: 'writes', lead: 'Changes files:', subject: arg.source });
    touch(call, arg, writes);
  }
}

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
function runCommand(call: Call, depth = 0): void {
  const isPath = call.name.includes('/');
  const name = call.name.slice(call.name.lastIndexOf('/') + 1);
  const rule = RULES.get(name);
  // A file of the same name elsewhere may be anything.
  if (rule === undefined || (isPath && !USUAL_FOLDER.test(call.name)) || depth > DEEPEST) reportUnknown(call);
  if (depth > DEEPEST) return;
  const { scope, script, args } = call;
  if (rule !== undefined && (!isPath || USUAL_FOLDER.test(call.name)))
    script.commands.push({ name, args, folder: scope.isKnown ? scope.folder : null });
  if (rule === undefined) touchLikely(call);
  else rule({ ...call, name }, (inner) => runCommand(inner, depth + 1));
}

const COMPARES_NUMBERS = /^-(?:eq|ne|lt|le|gt|ge|v|R)$/;

/**
 * Whether evaluating this part of a script, without what stands in it, runs nothing. Arithmetic does not pass: a variable in it may hold
 * `a[$(command)]`, which bash would run.
 */
function isHarmlessExpansion(node: SyntaxNode): boolean {
  switch (node.type) {
    case 'ParameterExpansion':
      return node.prefix !== '!' && node.index === undefined;
    case 'Default':
      return !node.operator.includes('=');
    case 'Slice':
    case 'Transform':
    case 'Unknown':
    case 'Names':
    case 'ExtendedGlob':
      return false;
    case 'ArithmeticWord':
      return /^\d*$/.test(node.value);
    case 'TestUnary':
    case 'TestBinary':
      return !COMPARES_NUMBERS.test(node.operator);
    default:
      return true;
  }
}
