import { type Call, type Rule, report, reportUnknown, splitArgs, touch, touchLikely } from './call.ts';
import { hostOf, remoteHostOf } from './hosts.ts';
import type { Arg } from './shell-word.ts';

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

const names = (list: string, rule: Rule): [string, Rule][] => list.split(' ').map((name) => [name, rule]);

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
