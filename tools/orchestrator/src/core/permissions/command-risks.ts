import type { RiskCode } from '@callboard/contract';
import {
  type Arg,
  type Call,
  hostOf,
  type Rule,
  remoteHostOf,
  report,
  reportUnknown,
  splitArgs,
  touch,
  touchLikely,
  writes,
} from './shell-call.ts';

/** Commands that change files they are given. @param danger options that make it run something */
const changes =
  (danger?: RegExp): Rule =>
  (call) => {
    const { options, operands } = splitArgs(call.args);
    if (options.some(({ text, isLiteral }) => !isLiteral || danger?.test(text) === true)) reportUnknown(call);
    writes(call, operands);
  };

/** `chmod 755 x`: the first operand is no path. */
const changesAfterFirst: Rule = (call) => writes(call, splitArgs(call.args).operands.slice(1));

/** `cp a b`: reads all but the last. */
const copies: Rule = (call) => {
  const { operands, options } = splitArgs(call.args);
  if (options.some(({ isLiteral }) => !isLiteral)) reportUnknown(call);
  for (const from of operands.slice(0, -1)) touch(call, from, call.name === 'mv');
  writes(call, operands.slice(-1));
};

const deletes: Rule = (call) => {
  const { options, operands } = splitArgs(call.args);
  const isDeep = options.some(({ text }) => /^-[a-zA-Z]*[rR]|^--r/.test(text));
  const lead = isDeep ? 'Deletes with all contents:' : 'Deletes';
  if (operands.length === 0) report(call, { code: 'deletes', lead: 'Deletes files' });
  for (const target of operands) {
    report(call, { code: 'deletes', lead, subject: target.source });
    touch(call, target, true);
  }
};

const overwrites: Rule = (call) => {
  const { operands } = splitArgs(call.args);
  const named = operands.flatMap(({ text }) => /^of=(.*)$/s.exec(text)?.[1] ?? (call.name === 'dd' ? [] : [text]));
  if (named.length === 0 && call.name === 'dd') return reportUnknown(call);
  for (const subject of named) report(call, { code: 'deletes', lead: 'Overwrites', subject });
  for (const arg of operands) touch(call, { ...arg, text: arg.text.replace(/^[io]f=/, '') }, true);
};

const destroys: Rule = (call) => report(call, { code: 'deletes', lead: 'Erases a disk or database' });

const archives: Rule = (call) => {
  const { operands, options } = splitArgs(call.args);
  const runs = /^-[a-zA-Z]*[IF]|^--(?:to-command|checkpoint|use-compress|rsh|info-script|rmt|new-volume)/;
  if (options.some(({ text, isLiteral }) => !isLiteral || runs.test(text))) reportUnknown(call);
  report(call, { code: 'writes', lead: 'Packs or unpacks files' });
  for (const path of operands) touch(call, path, true);
};

const schedules =
  (harmless: RegExp | null): Rule =>
  (call) => {
    const { text } = call.args[0] ?? { text: '' };
    if (harmless?.test(text) === true) reportUnknown(call);
    else report(call, { code: 'schedules', lead: `Schedules something with ${call.name}` });
  };

const crontab: Rule = (call) => {
  const has = (option: RegExp) => call.args.some(({ text }) => option.test(text));
  if (has(/^-[a-z]*r/)) report(call, { code: 'schedules', lead: 'Removes all scheduled jobs (crontab)' });
  else if (!has(/^-[a-z]*l/) || has(/^(?!-[lu]$)-/))
    report(call, { code: 'schedules', lead: 'Changes scheduled jobs (crontab)' });
};

const SYSTEMD_READS = /^(?:status|show|cat|list-\S+|is-\S+)$/;

const systemctl: Rule = (call: Call) => {
  const verb = splitArgs(call.args).operands[0];
  if (verb?.isLiteral === true && SYSTEMD_READS.test(verb.text)) return;
  report(call, { code: 'schedules', lead: 'Changes system services' });
};

const ends: Rule = (call) => {
  if (call.args.some(({ text }) => /^-(?:l|L|0)$/.test(text))) return;
  report(call, {
    code: 'processes',
    lead: 'Ends processes:',
    subject:
      splitArgs(call.args)
        .operands.map((arg) => arg.source)
        .join(' ') || undefined,
  });
};

const secrets: Rule = (call) => report(call, { code: 'credentials', lead: `Uses stored credentials (${call.name})` });

const names = (list: string, rule: Rule): [string, Rule][] => list.split(' ').map((name) => [name, rule]);

/** Commands about files, schedules, processes and stored credentials. */
export const FILE_COMMANDS: readonly [string, Rule][] = [
  ...names('mkdir touch mktemp', changes()),
  ...names('tee', changes()),
  ...names('chmod chown chgrp', changesAfterFirst),
  ...names('cp mv ln install', copies),
  ...names('rm rmdir unlink shred srm trash', deletes),
  ...names('truncate dd', overwrites),
  ...names('mkfs mkswap wipefs fdisk parted dropdb', destroys),
  ...names('tar unzip zip gzip gunzip bzip2 bunzip2 xz unxz zstd 7z', archives),
  ...names('at batch launchctl systemd-run anacron schtasks', schedules(/^(?:list|print|-l|-q|--list)$/)),
  ['crontab', crontab],
  ['systemctl', systemctl],
  ...names('kill pkill killall', ends),
  ...names('security pass op bw gpg gpg2 ssh-add ssh-keygen secret-tool keyctl vault lpass', secrets),
];

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

const INSTALLS = { code: 'installs', lead: 'Installs packages from the network; their scripts may run' } as const;
const FETCHES_AND_RUNS = { code: 'installs', lead: 'May download a package from the network, and runs it' } as const;

const SENDS =
  /^(?:-[dFT]|--(?:data|form|upload|json|post|body)\b.*|-X(?:POST|PUT|PATCH|DELETE)?|POST|PUT|PATCH|DELETE)/;

/** `curl`, `wget`: says which host, and whether data are sent. */
const fetches: Rule = (call) => {
  const { args } = call;
  const hosts = args.flatMap(({ text }) => (text.startsWith('-') ? [] : (hostOf(text) ?? [])));
  const sends =
    call.name !== 'wget'
      ? args.some(({ text }) => SENDS.test(text))
      : args.some(({ text }) => /^--(?:post|body|method)/.test(text));
  const lead = sends ? 'Sends data over the network' : 'Uses the network';
  if (hosts.length === 0) report(call, { code: 'network', lead });
  for (const subject of hosts) report(call, { code: 'network', lead: `${lead}:`, subject });
  if (args.some(({ text }) => /^(?:-K|--config|--use-askpass)/.test(text))) reportUnknown(call);
  for (const arg of args) {
    const file = /^(?:file:\/\/|[^=]*=?@)(.+)$/s.exec(arg.text)?.[1];
    if (file !== undefined && hostOf(arg.text) === null) touch(call, { ...arg, text: file }, false);
  }
  if (
    args.some(({ text }) =>
      /^(?:-u|--user|--netrc|-n|-b|--cookie|-E|--cert|--key)$|authorization|api[_-]?key/i.test(text),
    )
  )
    report(call, { code: 'credentials', lead: 'Sends credentials over the network' });
  touchLikely(call);
};

const VALUED_SSH = /^-[bcDEeFIiJLlmOopPQRSWw]$/;

/** `ssh host command`: what runs there is unknown. */
const ssh: Rule = (call) => {
  const [target, ...rest] = call.args.filter(
    ({ text }, index) => !text.startsWith('-') && !VALUED_SSH.test(call.args[index - 1]?.text ?? ''),
  );
  const host = target === undefined ? undefined : (hostOf(target.text) ?? target.source);
  report(call, {
    code: 'network',
    lead: rest.length > 0 ? 'Runs code on another machine:' : 'Connects to',
    subject: host,
  });
  reportUnknown(call);
  touchLikely(call);
};

const copiesOver: Rule = (call) => {
  const hosts = call.args.flatMap(({ text }) => (text.startsWith('-') ? [] : (remoteHostOf(text) ?? [])));
  if (hosts.length > 0 || call.name !== 'rsync') {
    if (hosts.length === 0) report(call, { code: 'network', lead: 'Uses the network' });
    for (const subject of hosts) report(call, { code: 'network', lead: 'Copies files over the network:', subject });
  }
  if (call.args.some(({ text }) => /^--(?:del|remove-source)/.test(text)))
    report(call, { code: 'deletes', lead: 'Deletes what is missing at the source' });
  if (call.name === 'rsync' && call.args.some(({ text }) => /^(?:-[a-zA-Z]*e|--rsh|--rsync-path)/.test(text)))
    reportUnknown(call);
  if (call.args.some(({ isLiteral }) => !isLiteral)) reportUnknown(call);
  report(call, { code: 'writes', lead: 'Copies files' });
  touchLikely(call);
};

const connects: Rule = (call) => {
  const hosts = splitArgs(call.args).operands.flatMap(({ text }) => hostOf(text) ?? []);
  if (hosts.length === 0) report(call, { code: 'network', lead: 'Uses the network' });
  for (const subject of hosts) report(call, { code: 'network', lead: 'Uses the network:', subject });
  if (/^(?:nc|ncat|netcat|socat)$/.test(call.name)) reportUnknown(call);
};

const mails: Rule = (call) => report(call, { code: 'network', lead: 'Sends mail' });

/** Tools that act on a service in a person's name. */
const services: Rule = (call) => {
  report(call, { code: 'network', lead: `Uses the network as you (${call.name})` });
  const words = call.args.map(({ text }) => text);
  if (
    words.some((word) =>
      /^(?:auth|login|token|tokens|secret|secrets|configure|get-session-token|print-access-token)$/.test(word),
    )
  )
    report(call, { code: 'credentials', lead: `Uses stored credentials (${call.name})` });
  if (words.some((word) => /^(?:delete|destroy|rm|remove|terminate-\S+|delete-\S+|rb)$/.test(word)))
    report(call, { code: 'deletes', lead: `Deletes something of a service (${call.name})` });
  if (
    call.name === 'gh' &&
    /^(?:pr|release|repo|workflow|issue|api)$/.test(words[0] ?? '') &&
    !/^(?:view|list|status|diff|checks)$/.test(words[1] ?? '')
  )
    report(call, { code: 'git-remote', lead: 'Changes something on GitHub' });
  reportUnknown(call);
  touchLikely(call);
};

interface Manager {
  installs: RegExp;
  /** Fetches a program and runs it. */
  runs?: RegExp;
  reads?: RegExp;
  network?: RegExp;
  publishes?: RegExp;
  /** Without a subcommand, it installs. */
  bare?: true;
}

const manager =
  ({ installs, runs, reads, network, publishes, bare }: Manager): Rule =>
  (call) => {
    const verbs = call.args.filter(({ text }) => !text.startsWith('-') && !/^(?:pip|tool|self)$/.test(text));
    const [verb] = verbs;
    const word = verb?.text ?? '';
    if (bare === true && verb === undefined) report(call, INSTALLS);
    else if (verb?.isLiteral !== true) reportUnknown(call);
    else if (installs.test(word)) report(call, INSTALLS);
    else if (runs?.test(word) === true) runsFetched(call);
    else if (publishes?.test(word) === true) report(call, { code: 'network', lead: 'Publishes a package' });
    else if (network?.test(word) === true) report(call, { code: 'network', lead: 'Asks a package registry' });
    else if (reads?.test(word) !== true) reportUnknown(call);
    if (/^(?:token|login|adduser|whoami|logout|profile)$/.test(word))
      report(call, { code: 'credentials', lead: `Uses stored credentials (${call.name})` });
    if (call.args.some(({ isLiteral }) => !isLiteral)) reportUnknown(call);
    if (
      call.args.some(({ text }) => /^(?:-g|--global|--system|--break-system-packages)$/.test(text)) &&
      installs.test(word)
    )
      report(call, { code: 'outside', lead: 'Installs outside the worktree' });
    touchLikely(call);
  };

function runsFetched(call: Call): void {
  report(call, FETCHES_AND_RUNS);
  reportUnknown(call);
}

const npm = {
  installs:
    /^(?:i|in|ins|inst|install|add|ci|clean-install|update|up|upgrade|link|rebuild|dedupe|uninstall|un|remove|rm|prune|it|install-test|import|fetch)$/,
  runs: /^(?:x|exec|dlx|create|init|innit)$/,
  reads: /^(?:ls|list|la|ll|why|explain|root|prefix|bin|help|version|-v)$/,
  network: /^(?:view|info|show|outdated|audit|search|ping|fund|v)$/,
  publishes: /^(?:publish|unpublish|deprecate|dist-tag|owner|access)$/,
};

/** Python's `-m pip install`. */
const python: Rule = (call, run) => {
  const at = call.args.findIndex(({ text }) => text === '-m');
  const module = at === -1 ? '' : (call.args[at + 1]?.text ?? '');
  if (/^(?:pip|pip3|ensurepip|pipx|uv)$/.test(module))
    return run({ ...call, name: module, args: call.args.slice(at + 2) });
  reportUnknown(call);
  touchLikely(call);
};

/** What is asked of a container is unknown; what it downloads, and deletes, is not. */
const containers: Rule = (call) => {
  const words = call.args.filter(({ text }) => !text.startsWith('-')).map(({ text }) => text);
  if (words.some((word) => /^(?:pull|push|build|run|up|login|search|buildx)$/.test(word)))
    report(call, { code: 'network', lead: 'May use the network' });
  if (words.some((word) => /^(?:rm|rmi|prune|down|kill)$/.test(word)))
    report(call, { code: 'deletes', lead: 'Deletes containers, images or volumes' });
  reportUnknown(call);
  touchLikely(call);
};

const always =
  (finding: Parameters<typeof report>[1]): Rule =>
  (call: Call) => {
    report(call, finding);
    reportUnknown(call);
    touchLikely({ ...call, args: call.args.filter((arg: Arg) => arg.isLiteral) });
  };

/** Commands that use the network, package managers among them. */
export const NETWORK_COMMANDS: readonly [string, Rule][] = [
  ...names('curl wget http https xh aria2c', fetches),
  ...names('ssh mosh', ssh),
  ...names('scp sftp rsync ftp rclone', copiesOver),
  ...names('nc ncat netcat socat telnet ping ping6 traceroute dig nslookup host whois nmap', connects),
  ...names('mail mailx mutt sendmail msmtp swaks', mails),
  ...names(
    'gh glab aws gcloud az kubectl helm terraform tofu heroku vercel netlify fly flyctl wrangler doctl stripe npm-cli-login firebase supabase',
    services,
  ),
  ...names('npm pnpm cnpm', manager(npm)),
  ['yarn', manager({ ...npm, bare: true })],
  ['bun', manager({ ...npm, installs: /^(?:i|install|add|remove|rm|update|upgrade|link|pm)$/ })],
  ...names('npx pnpx bunx uvx pipx', (call) => {
    runsFetched(call);
    touchLikely(call);
  }),
  ...names(
    'pip pip3',
    manager({
      installs: /^(?:install|uninstall|download|wheel)$/,
      reads: /^(?:list|show|freeze|check)$/,
      network: /^(?:index|search)$/,
    }),
  ),
  ...names(
    'uv poetry pdm pipenv conda mamba',
    manager({
      installs: /^(?:add|install|sync|update|lock|remove|create|upgrade|venv|uninstall)$/,
      publishes: /^publish$/,
    }),
  ),
  ...names(
    'apt apt-get aptitude dnf yum apk zypper brew port snap flatpak',
    manager({
      installs:
        /^(?:install|add|update|upgrade|full-upgrade|dist-upgrade|remove|purge|autoremove|del|uninstall|reinstall|tap)$/,
      reads: /^(?:list|show|search|info|policy)$/,
    }),
  ),
  ...names('pacman dpkg rpm', always(INSTALLS)),
  [
    'cargo',
    manager({
      installs: /^(?:add|install|fetch|update|vendor|remove|uninstall)$/,
      publishes: /^(?:publish|yank)$/,
      network: /^search$/,
    }),
  ],
  ['go', manager({ installs: /^(?:get|install|mod)$/, reads: /^(?:version|env|doc|list|vet|fmt)$/ })],
  ...names(
    'gem bundle bundler composer',
    manager({ installs: /^(?:install|update|add|require|remove|uninstall)$/, publishes: /^push$/ }),
  ),
  ...names(
    'rustup nvm volta fnm asdf mise corepack playwright',
    always({ code: 'installs', lead: 'May install programs from the network' }),
  ),
  ...names('docker podman docker-compose nerdctl', containers),
  ...names('python python2 python3 py', python),
];
