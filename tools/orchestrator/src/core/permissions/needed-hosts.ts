import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { hostLocation, hostRule } from '@callboard/contract';
import { commandsIn } from './risk.ts';
import type { ScriptCommand } from './shell-call.ts';

/** Where a command runs. */
export interface CommandPlace {
  worktree: string;
  /** The environment that Claude Code gets. */
  env: Readonly<Record<string, string>>;
}

/** A file that names addresses, each as the first group of a match. */
interface AddressFile {
  /** Below the command's folder and the worktree, or with `~` below the home folder. */
  path: string;
  address: RegExp;
}

/** How a package manager learns where its packages are. */
interface Manager {
  name: RegExp;
  /** The first operand of a command that downloads. */
  downloads: RegExp;
  /** Without an operand it installs. */
  isBare?: true;
  option: RegExp;
  variables: readonly string[];
  /** Settings, the most important first. */
  settings: readonly AddressFile[];
  /** Further addresses in its settings that are used beside those. */
  besides?: readonly AddressFile[];
  /** Lock files, for where no setting names an address. */
  locks: readonly AddressFile[];
}

const NPM = {
  option: /^--registry$/,
  variables: ['npm_config_registry', 'NPM_CONFIG_REGISTRY', 'YARN_REGISTRY', 'BUN_CONFIG_REGISTRY'],
  settings: ['.npmrc', '~/.npmrc'].map((path) => ({ path, address: /^[ \t]*registry[ \t]*=[ \t]*(\S+)/gm })),
  besides: ['.npmrc', '~/.npmrc'].map((path) => ({ path, address: /^[ \t]*@[^\s=:]+:registry[ \t]*=[ \t]*(\S+)/gm })),
  locks: [
    ...['package-lock.json', 'npm-shrinkwrap.json'].map((path) => ({ path, address: /"resolved":[ \t]*"([^"\n]+)"/g })),
    { path: 'yarn.lock', address: /^[ \t]+resolved "([^"\n]+)"/gm },
  ],
} as const;

const MANAGERS: readonly Manager[] = [
  { ...NPM, name: /^(?:npm|pnpm)$/, downloads: /^(?:i|in|install|add|ci|clean-install|update|up|upgrade|dlx|audit)$/ },
  { ...NPM, name: /^yarn$/, downloads: /^(?:install|add|up|upgrade|dlx|audit)$/, isBare: true },
  { ...NPM, name: /^bun$/, downloads: /^(?:i|install|add|update)$/ },
  {
    name: /^(?:pip3?|uv)$/,
    downloads: /^(?:install|download|wheel|add|sync|lock|pip)$/,
    option: /^(?:-i|--index-url|--default-index|--extra-index-url)$/,
    variables: ['PIP_INDEX_URL', 'UV_DEFAULT_INDEX', 'UV_INDEX_URL'],
    settings: ['~/.config/pip/pip.conf', '~/.pip/pip.conf'].map((path) => ({
      path,
      address: /^[ \t]*(?:extra-)?index-url[ \t]*[=:][ \t]*(\S+)/gm,
    })),
    locks: [{ path: 'uv.lock', address: /\burl = "([^"\n]+)"/g }],
  },
  {
    name: /^cargo$/,
    downloads: /^(?:add|install|fetch|update|vendor|build|b)$/,
    option: /^--index$/,
    variables: [],
    settings: ['.cargo/config.toml', '~/.cargo/config.toml'].map((path) => ({
      path,
      address: /^[ \t]*(?:registry|index)[ \t]*=[ \t]*"(?:sparse\+)?(http[^"\n]+)"/gm,
    })),
    locks: [],
  },
  {
    name: /^bundle$/,
    downloads: /^(?:install|add|update)$/,
    isBare: true,
    option: /^--source$/,
    variables: [],
    settings: [],
    locks: [{ path: 'Gemfile.lock', address: /^[ \t]+remote: (\S+)/gm }],
  },
];

const GIT_DOWNLOADS = /^(?:clone|fetch|pull|ls-remote)$/;
/** More hosts than this are not offered together: nobody would read them. */
const MAX_HOSTS = 5;
const MAX_FILE_BYTES = 8 * 1024 * 1024;

/**
 * Returns the hosts that a shell command usually needs, as far as its text, the settings of its package managers and their lock files
 * name them; empty if they do not. Never a host of this machine or of its local network. Reads files, and runs nothing. Never throws.
 */
export async function neededHosts(command: string, place: CommandPlace): Promise<string[]> {
  const addresses = await Promise.all(commandsIn(command, place.worktree).map((one) => addressesOf(one, place)));
  const hosts = new Set(addresses.flat().flatMap((address) => hostIn(address) ?? []));
  return hosts.size > MAX_HOSTS ? [] : [...hosts];
}

/** Returns the host of an HTTP address that may be offered; null for any other text. */
export function hostIn(address: string): string | null {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  return hostLocation(url.hostname) === null ? hostRule(url.hostname) : null;
}

async function addressesOf({ name, args, folder }: ScriptCommand, place: CommandPlace): Promise<string[]> {
  const words = args.map(({ text }) => text);
  if (name === 'git') {
    const at = words.findIndex((word) => GIT_DOWNLOADS.test(word));
    return at === -1 ? [] : words.slice(at + 1).filter((word) => /^https?:/.test(word));
  }
  const manager = MANAGERS.find((one) => one.name.test(name));
  const verb = words.find((word) => !word.startsWith('-'));
  if (manager === undefined || !(verb === undefined ? manager.isBare : manager.downloads.test(verb))) return [];
  const files = (all: readonly AddressFile[] = []) => addressesIn(all, { ...place, folder });
  const variables = manager.variables.map((variable) => place.env[variable]);
  const given = [optionValues(words, manager.option), ...variables.map((value) => (value ? [value] : []))];
  const besides = (await files(manager.besides)).flat();
  const set = [...given, ...(await files(manager.settings))].find((found) => found.length > 0);
  return [...(set ?? (await files(manager.locks)).flat()), ...besides];
}

/** The values of an option, in its own word or behind `=`. */
const optionValues = (words: readonly string[], option: RegExp): string[] =>
  words.flatMap((word, at) => {
    const [name = '', ...rest] = word.split('=');
    if (!option.test(name)) return [];
    return rest.length > 0 ? [rest.join('=')] : (words[at + 1] ?? []);
  });

interface FilePlace extends CommandPlace {
  /** Null if unknown. */
  folder: string | null;
}

/** Returns the addresses that each file names, in the order of the files. A file that cannot be read names none. */
async function addressesIn(files: readonly AddressFile[], { worktree, folder, env }: FilePlace): Promise<string[][]> {
  const folders = [...new Set([resolve(worktree, folder ?? '.'), worktree])];
  const found = files.map(async ({ path, address }) => {
    const inHome = path.startsWith('~/');
    if (inHome && env.HOME === undefined) return [];
    const paths = inHome ? [join(env.HOME ?? '', path.slice(2))] : folders.map((one) => join(one, path));
    const texts = await Promise.all(paths.map(readText));
    const text = texts.find((one) => one !== null) ?? '';
    return [...new Set([...text.matchAll(address)].flatMap(([, value]) => value ?? []))];
  });
  return Promise.all(found);
}

/** Returns the text of an ordinary file that is not too large; null for any other. A pipe in its place does not block. */
async function readText(path: string): Promise<string | null> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await file.stat();
    if (!found.isFile() || found.size > MAX_FILE_BYTES) return null;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(found.size), 0, found.size, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } catch {
    return null;
  }
}
