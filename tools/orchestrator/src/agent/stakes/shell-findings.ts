import { type Command, forEachChild, type Pipeline, parse, type Redirect, type SyntaxNode } from 'unbash';
import { type Call, report, reportUnknown, type Scope, type Script, touch } from './call.ts';
import { runCommand } from './commands.ts';
import { isHarmlessExpansion } from './expansions.ts';
import { type Finding, UNKNOWN } from './findings.ts';
import { argOf, literalOf } from './shell-word.ts';
import { isHarmlessVariable, namesSecret } from './variables.ts';

/** Longer commands are not parsed. */
const MAX_SCRIPT_LENGTH = 100_000;
const MAX_NODES = 30_000;
const DEEPEST = 5;
/** How many `$(...)` may stand in one another: each is parsed again. */
const DEEPEST_EXPANSION = 8;

/** What a shell command does, as far as a parser can tell. What it cannot tell is found as unknown. */
export function shellFindings(command: string, worktree: string | null): Finding[] {
  const script: Script = { worktree, found: [], depth: 0 };
  readScript(command, script, { folder: worktree, isKnown: true });
  return script.found;
}

/** Reads a script, or one within another: the text of `bash -c`. */
function readScript(text: string, script: Script, scope: Scope): void {
  if (text.length > MAX_SCRIPT_LENGTH || script.depth > DEEPEST) {
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
