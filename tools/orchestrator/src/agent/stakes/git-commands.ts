import type { RiskCode } from '@callboard/contract';
import { type Call, type Rule, report, reportUnknown, touchLikely } from './call.ts';
import type { Arg } from './shell-word.ts';

const READS =
  /^(?:status|log|diff|show|blame|annotate|ls-files|ls-tree|rev-parse|rev-list|describe|shortlog|cat-file|merge-base|name-rev|for-each-ref|show-ref|diff-tree|diff-index|check-ignore|count-objects|whatchanged|cherry|range-diff|version|help|grep|reflog|var)$/;
/** They write a file, or run a program. */
const READ_DANGER = /^--(?:ou|ext|textconv|op)|^-O/;
const CHANGES_REPOSITORY = /^(?:add|commit|merge|cherry-pick|revert|mv|init|apply|am|worktree|notes|bisect)$/;
const RUNS_HOOKS =
  /^(?:commit|merge|cherry-pick|revert|am|bisect|worktree|rebase|pull|push|checkout|switch|clone|submodule)$/;
const NETWORK = /^(?:fetch|pull|clone|ls-remote|submodule|lfs)$/;
/** Options before the subcommand that take a value. */
const GLOBAL_VALUED = /^(?:-C|-c|--git-dir|--work-tree|--namespace|--exec-path|--config-env|--super-prefix)$/;
const LISTS_ONLY =
  /^(?:-[avrl]+|-vv|--(?:list|all|remotes|show-current|contains|merged|no-merged|sort|format|verbose|points-at|color|no-color|column)(?:=.*)?)$/;

type Effect = readonly [code: RiskCode, lead: string];

const REWRITES: Effect = ['git-history', 'Rewrites git history'];
const DISCARDS: Effect = ['deletes', 'Discards changes that are not committed'];

/** Subcommands that are grave with some arguments: which, and what they do then. */
const GRAVE: Readonly<Record<string, readonly (readonly [RegExp, Effect])[]>> = {
  commit: [[/^--am/, REWRITES]],
  reset: [
    [/^--(?:h|merge|keep)/, DISCARDS],
    [/^(?!-|HEAD$)/, ['git-history', 'Moves the branch to another commit']],
  ],
  checkout: [[/^(?:--|\.|-f|--f.*|--(?:ours|theirs|patch)|-p)$/, DISCARDS]],
  switch: [[/^(?:-f|--f.*|--discard-changes|-C)$/, DISCARDS]],
  branch: [[/^(?:-[a-zA-Z]*[dDmMcCf]|--(?:d|move|copy|f).*)$/, ['git-history', 'Deletes, moves or renames branches']]],
  tag: [[/^(?:-d|-f|--d.*|--f.*)$/, ['git-history', 'Deletes or moves tags']]],
  stash: [[/^(?:drop|clear|pop)$/, ['git-history', 'Takes stashed work away']]],
  reflog: [[/^(?:expire|delete|drop)$/, ['git-history', 'Deletes what git keeps for undoing']]],
  worktree: [[/^(?:remove|prune)$/, ['deletes', 'Deletes a worktree']]],
  push: [
    [/^(?:-[a-z]*f[a-z]*|--(?:fo|mi|pru).*|\+.*)$/, ['git-history', 'Overwrites history on the remote']],
    [/^(?:-d|--de.*|:.+)$/, ['git-history', 'Deletes branches on the remote']],
  ],
};

const ALWAYS: Readonly<Record<string, Effect>> = {
  push: ['git-remote', 'Pushes to the git remote'],
  'send-email': ['git-remote', 'Sends commits by mail'],
  rebase: REWRITES,
  'filter-branch': REWRITES,
  'filter-repo': REWRITES,
  'fast-import': REWRITES,
  replace: REWRITES,
  'update-ref': ['git-history', 'Moves or deletes refs'],
  'symbolic-ref': ['git-history', 'Moves or deletes refs'],
  gc: ['git-history', 'Deletes what git keeps for undoing'],
  prune: ['git-history', 'Deletes what git keeps for undoing'],
  reset: ['writes', 'Changes the git index'],
  restore: DISCARDS,
  clean: ['deletes', 'Deletes files that git does not track'],
  rm: ['deletes', 'Deletes tracked files'],
  credential: ['credentials', 'Uses stored git credentials'],
};

const effect = (call: Call, [code, lead]: Effect, subject?: string): void => report(call, { code, lead, subject });

/** `git`, by its subcommand. Aliases of the person's own are unknown. */
export const git: Rule = (call) => {
  const { sub, args } = subcommandOf(call);
  if (args.some((arg) => !arg.isLiteral) && !READS.test(sub)) reportUnknown(call);
  if (/^(?:remote|config|branch|tag|stash)$/.test(sub)) manage(call, sub, args);
  else if (READS.test(sub)) {
    if (args.some((arg) => !arg.isLiteral || arg.mayBecomeOption || READ_DANGER.test(arg.text))) reportUnknown(call);
  } else if (CHANGES_REPOSITORY.test(sub)) effect(call, ['writes', 'Changes the git repository']);
  else if (ALWAYS[sub] === undefined && !NETWORK.test(sub) && GRAVE[sub] === undefined) reportUnknown(call);
  if (NETWORK.test(sub)) effect(call, ['network', 'Downloads from a git remote']);
  if (RUNS_HOOKS.test(sub)) effect(call, ['unknown', 'Hooks of the repository may run']);
  const isDryRun = args.some(({ text }) => text === '--dry-run' || text === '-n') && /^(?:clean|rm|push)$/.test(sub);
  if (isDryRun) return reportUnknown(call);
  if (Object.hasOwn(ALWAYS, sub)) effect(call, ALWAYS[sub] ?? REWRITES, sub === 'push' ? remoteOf(args) : undefined);
  for (const [argument, grave] of Object.hasOwn(GRAVE, sub) ? (GRAVE[sub] ?? []) : [])
    if (args.some(({ text }) => argument.test(text))) effect(call, grave);
  touchLikely({ ...call, args: withoutMessages(args) });
};

const remoteOf = (args: readonly Arg[]) => args.find(({ text }) => !text.startsWith('-'))?.source;

/** Finds the subcommand. An option before it may name a program, so each but a folder is unknown. */
function subcommandOf(call: Call): { sub: string; args: readonly Arg[] } {
  const { args } = call;
  let at = 0;
  while (args[at]?.text.startsWith('-') === true) {
    const { text } = args[at] ?? { text: '' };
    if (!/^(?:-C|--no-pager|-P|--version|--help|--no-optional-locks|--literal-pathspecs)$/.test(text))
      reportUnknown(call);
    if (text === '-C') touchLikely({ ...call, args: args.slice(at + 1, at + 2) });
    at += GLOBAL_VALUED.test(text) ? 2 : 1;
  }
  const sub = args[at];
  if (sub !== undefined && !sub.isLiteral) reportUnknown(call);
  return { sub: sub?.text ?? 'help', args: args.slice(at + 1) };
}

/** Subcommands that list, or change what they list. */
function manage(call: Call, sub: string, args: readonly Arg[]): void {
  const [first] = args;
  const verb = first?.text ?? '';
  const onlyOptions = args.every(({ text }) => LISTS_ONLY.test(text));
  if (sub === 'remote') {
    if (/^(?:show|update|prune)$/.test(verb)) effect(call, ['network', 'Downloads from a git remote']);
    else if (!/^(?:-v|get-url|)$/.test(verb)) effect(call, ['git-remote', 'Changes the git remotes']);
  } else if (sub === 'config') {
    if (!args.some(({ text }) => /^(?:--get.*|--list|-l|list|get)$/.test(text))) reportUnknown(call);
  } else if (sub === 'stash') {
    if (!/^(?:list|show)$/.test(verb)) effect(call, ['writes', 'Changes the git repository']);
  } else if (!onlyOptions) effect(call, ['writes', 'Changes the git repository']);
}

const withoutMessages = (args: readonly Arg[]) =>
  args.filter(
    (arg, index) => !/^-[a-z]*m$|^--message$/.test(args[index - 1]?.text ?? '') && !/^--message=/.test(arg.text),
  );
