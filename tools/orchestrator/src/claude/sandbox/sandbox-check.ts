import { access, constants, readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { SandboxSupport } from '@callboard/contract';
import { run } from '../../lib/processes/processes.ts';
import { type Advice, adviceFor } from './sandbox-advice.ts';

const TIMEOUT_MS = 10_000;

/** How the CLI (2.1.330) starts each command on Linux, without the paths that it binds. */
const BWRAP = [
  ...['--new-session', '--die-with-parent', '--unshare-net', '--ro-bind', '/', '/', '--dev', '/dev'],
  ...['--unshare-pid', '--unshare-user', '--cap-drop', 'ALL', '--proc', '/proc', '--'],
];

/** Prints `inside` if the command has its own network, and `open` if root could still change which program the kernel runs. */
const PROBE = [
  'socat -V >/dev/null || exit 1',
  '[ "$(grep -c : /proc/net/dev)" = 1 ] && echo inside',
  '(: >>/proc/sys/kernel/core_pattern) 2>/dev/null && echo open',
  'exit 0',
].join('\n');

/**
 * Checks Claude Code's sandbox by running a command in one. Finding the programs is not enough, since the system may forbid
 * what they need. Never throws.
 * @param env the environment that `claude` gets; its PATH decides which programs are used
 */
export async function checkSandbox(
  env: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<SandboxSupport> {
  switch (process.platform) {
    case 'linux':
      return onLinux(env, signal);
    case 'darwin':
      return onMac(env, signal);
    default:
      return fails('Claude Code’s sandbox works on Linux and macOS only.', null);
  }
}

const WORKS: SandboxSupport = { state: 'works', why: null, how: null };
const fails = (why: string, how: string | null): SandboxSupport => ({ state: 'fails', why, how });

async function onLinux(env: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<SandboxSupport> {
  const programs = await Promise.all(['bwrap', 'socat'].map((name) => find(name, env.PATH)));
  const missing = ['bubblewrap', 'socat'].filter((_, index) => programs[index] === null);
  if (missing.length > 0)
    return fails(
      `${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} not installed.`,
      await advice('install'),
    );
  const ran = await attempt('bwrap', [...BWRAP, '/bin/sh', '-c', PROBE], env, signal);
  const lines = ran.stdout.split('\n');
  if (!ran.failed && lines.includes('open')) return fails(OPEN_TO_ROOT, await advice('not-root'));
  if (!ran.failed && lines.includes('inside')) return WORKS;
  const detail = ran.stderr.trim().split('\n', 1)[0] || 'it ended without output';
  const forbidden = /permission denied|operation not permitted/i.test(detail);
  return fails(`A command in the sandbox does not start: ${detail}.`, await advice(forbidden ? 'allow' : 'look'));
}

const OPEN_TO_ROOT =
  'Callboard runs as root, and a command in the sandbox could still make the kernel run a program outside of it.';

/** Runs a command with a profile that allows everything. Not tried on a Mac. */
async function onMac(env: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<SandboxSupport> {
  const ran = await attempt('sandbox-exec', ['-p', '(version 1)(allow default)', '/usr/bin/true'], env, signal);
  if (!ran.failed) return WORKS;
  return fails(
    `A command in the sandbox does not start: ${ran.stderr.trim().split('\n', 1)[0] || ran.reason}.`,
    await advice('look'),
  );
}

async function attempt(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  signal?: AbortSignal,
) {
  const ran = await run({ command, args, env, timeoutMs: TIMEOUT_MS, graceMs: 1_000 }, signal);
  return { ...ran, reason: ran.complaint ?? 'it failed' };
}

/** Searches the path as a shell does. */
async function find(program: string, path = ''): Promise<string | null> {
  for (const folder of path.split(delimiter)) {
    const file = join(folder, program);
    if (
      folder !== '' &&
      (await access(file, constants.X_OK)
        .then(() => true)
        .catch(() => false))
    )
      return file;
  }
  return null;
}

async function advice(wanted: Advice): Promise<string> {
  const text = (path: string) => readFile(path, 'utf8').catch(() => '');
  const [osRelease, appArmor, clone] = await Promise.all([
    text('/etc/os-release'),
    text('/proc/sys/kernel/apparmor_restrict_unprivileged_userns'),
    text('/proc/sys/kernel/unprivileged_userns_clone'),
  ]);
  return adviceFor(wanted, {
    isMac: process.platform === 'darwin',
    osRelease,
    appArmorForbids: appArmor.trim() === '1',
    kernelForbids: clone.trim() === '0',
  });
}
