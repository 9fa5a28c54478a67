import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Rejection } from '../lib/errors.ts';
import type { Git, GitResult } from './git/git.ts';

/** How a commit is signed, as the person's git is set up. */
export interface Signing {
  /** Options of git itself, and variables, for the call that signs. */
  options: string[];
  env: Record<string, string>;
  timeoutMs: number;
  /** Returns what the signer did and said, if that is why the call failed; null otherwise. Ends what it has left running. */
  explain(result: GitResult): Promise<string | null>;
  /** Removes the files of it. */
  close(): Promise<void>;
}

/** The time limit in git's configuration, in seconds. */
const TIME_LIMIT = 'callboard.signTimeout';
const DEFAULT_SECONDS = 60;
/** Marks the signer and everything that it starts. */
const MARKER = 'CB_SIGNING';

/** The program of each `gpg.format`: the keys that name it, and what git runs without them. */
const SIGNERS: Readonly<Record<string, { keys: readonly string[]; usual: string }>> = {
  openpgp: { keys: ['gpg.openpgp.program', 'gpg.program'], usual: 'gpg' },
  x509: { keys: ['gpg.x509.program'], usual: 'gpgsm' },
  ssh: { keys: ['gpg.ssh.program'], usual: 'ssh-keygen' },
};

/**
 * Prepares the signature of a commit; null if git signs none. Git keeps what a signer says until that has ended, so the signer
 * runs through a script that writes it down as well.
 * @throws Rejection with the code if the repository asks for signatures and nobody has agreed to that
 */
export async function prepareSigning(
  git: Git,
  folder: string,
  code: 'merge_refused' | 'commit_refused',
): Promise<Signing | null> {
  await requireAgreedSigning(git, folder, code);
  if (!(await isSet(git, folder, []))) return null;
  const get = async (key: string) => (await git.try(folder, ['config', '--get', key])).stdout.trim();
  const { keys, usual } = SIGNERS[(await get('gpg.format')) || 'openpgp'] ?? { keys: ['gpg.program'], usual: 'gpg' };
  const named = (await Promise.all(keys.map(get))).find((value) => value !== '');
  const program = named ?? usual;
  const limit = Number((await git.try(folder, ['config', '--type=int', '--get', TIME_LIMIT])).stdout.trim());
  const seconds = limit > 0 ? limit : DEFAULT_SECONDS;
  const own = await mkdtemp(join(tmpdir(), 'callboard-signing-'));
  const [script, text, status] = ['signer', 'words', 'status'].map((name) => join(own, name)) as [
    string,
    string,
    string,
  ];
  const call = program.startsWith('~/') ? `"$HOME"/${quoted(program.slice(2))}` : quoted(program);
  const lines = [
    '#!/bin/sh',
    `: > ${quoted(text)}`,
    `{ { ${call} "$@" 2>&1 >&3 3>&-; echo $? > ${quoted(status)}; } | tee -a ${quoted(text)} >&2; } 3>&1`,
    `exit "$(cat ${quoted(status)})"`,
  ];
  await writeFile(script, `${lines.join('\n')}\n`);
  await chmod(script, 0o700);
  return {
    options: keys.flatMap((key) => ['-c', `${key}=${script}`]),
    env: { [MARKER]: own },
    timeoutMs: seconds * 1_000,
    async explain({ wasKilled }) {
      const said = await readFile(text, 'utf8').catch(() => null);
      if (said === null) return null;
      const hasEnded = (await readFile(status, 'utf8').catch(() => '')) !== '';
      await endMarked(`${MARKER}=${own}`);
      const output = said
        .split('\n')
        .filter((line) => !line.startsWith('[GNUPG:]'))
        .join('\n')
        .trim();
      if (hasEnded && wasKilled) return null; // it was something else that took so long
      const what = hasEnded
        ? `The signer ${program} did not sign the commit.`
        : `The signer ${program} did not sign the commit within ${seconds} s, so it was ended. Unlock your key, or give it more time: git config --global ${TIME_LIMIT} 300`;
      return `${what}\n${output}`.trim();
    },
    close: () => rm(own, { recursive: true, force: true }),
  };
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * Throws if the repository asks for signatures and nobody has agreed to that: git would make the commit without one.
 * @throws Rejection with the code
 */
export async function requireAgreedSigning(
  git: Git,
  folder: string,
  code: 'merge_refused' | 'commit_refused',
): Promise<void> {
  const asks = (await isSet(git, folder, ['--local'])) || (await isSet(git, folder, ['--worktree']));
  if (!asks || (await isSet(git, folder, []))) return;
  const message =
    'The repository asks for signed commits (commit.gpgSign), and nobody has agreed to that setting yet. Nothing was committed or merged. Agree to it on the project’s page, or remove it with "git config --unset-all commit.gpgSign".';
  throw new Rejection(code, message);
}

/** Whether commits are signed, by all settings or by those of one file. */
async function isSet(git: Git, folder: string, scope: readonly string[]): Promise<boolean> {
  const args = ['config', ...scope, '--includes', '--type=bool', '--get', 'commit.gpgSign'];
  return (await git.try(folder, args)).stdout.trim() === 'true';
}

/** Ends all processes with this variable. Needs `/proc`. */
async function endMarked(variable: string): Promise<void> {
  for (const pid of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const variables = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    if (variables.split('\0').includes(variable)) tryToKill(Number(pid));
  }
}

function tryToKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended
  }
}
