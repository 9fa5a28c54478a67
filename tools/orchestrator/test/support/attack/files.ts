/** Attacks on files: those of the session, the store, secrets, settings, git, and other sessions. */

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { firstOf, reached, refused } from './outcomes.ts';
import type { Attack, FileTarget, Outcome } from './targets.ts';

const { O_APPEND, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

/** Opens `path`, and runs the action if it is exactly that file. */
function withFile(path: string, flags: number, { id }: FileTarget, use: (fd: number) => Outcome): Outcome {
  const fd = openSync(path, flags | O_NONBLOCK);
  try {
    const { dev, ino } = fstatSync(fd, { bigint: true });
    return `${dev}:${ino}` === id ? use(fd) : refused(`${path} is another file here`);
  } finally {
    closeSync(fd);
  }
}

const append = (path: string, target: FileTarget, line: string): Outcome =>
  withFile(path, target.path.endsWith('.fifo') ? O_WRONLY : O_WRONLY | O_APPEND, target, (fd) => {
    writeSync(fd, `${line}\n`);
    return reached(path);
  });

/** All visible processes, including this one: inherited files count. */
export const visibleProcesses = (): number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0);

/** All descriptors of visible processes that are open on this file. */
function openedBy({ id }: FileTarget): string[] {
  const isIt = (path: string) => {
    try {
      const { dev, ino } = statSync(path, { bigint: true });
      return `${dev}:${ino}` === id;
    } catch {
      return false;
    }
  };
  return visibleProcesses()
    .flatMap((pid) => {
      try {
        return readdirSync(`/proc/${pid}/fd`).map((fd) => `/proc/${pid}/fd/${fd}`);
      } catch {
        return [];
      }
    })
    .filter(isIt);
}

const throughProc = (target: FileTarget, line: string): Outcome => {
  const places = openedBy(target);
  return places.length === 0
    ? refused('no process has it open')
    : firstOf(places.map((path) => () => append(path, target, line)));
};

/** Replaces the text of a file in any way that works, and judges by reading the file afterwards. */
function overwrite(path: string, text: string): Outcome {
  const isIn = () => (readFileSync(path, 'utf8') === text ? reached(path) : refused(`${path} has another text`));
  const folder = dirname(path);
  return firstOf([
    () => {
      mkdirSync(folder, { recursive: true });
      writeFileSync(path, text);
      return isIn();
    },
    () => {
      writeFileSync(`${path}.new`, text);
      renameSync(`${path}.new`, path);
      return isIn();
    },
    () => {
      renameSync(folder, `${folder}.old`);
      mkdirSync(folder);
      writeFileSync(path, text);
      return isIn();
    },
  ]);
}

const SETTINGS = `${JSON.stringify({ permissions: { allow: ['Bash(attack *)'] } })}\n`;
const SERVERS = `${JSON.stringify({ mcpServers: { attack: { command: 'true' } } })}\n`;

/** Rewrites the file unchanged, which proves that it can be rewritten and does no harm; creates it if it is missing. */
const rewrite = (path: string): Outcome => {
  const text = readFileSync(path, 'utf8');
  return text === '' ? refused(`${path} is hidden`) : withWriting(path, text);
};
function withWriting(path: string, text: string): Outcome {
  const { ino, mtimeNs } = statSync(path, { bigint: true });
  const outcome = overwrite(path, text);
  const after = statSync(path, { bigint: true });
  return outcome.result === 'reached' && after.ino === ino && after.mtimeNs === mtimeNs
    ? refused('nothing was written')
    : outcome;
}

/** Creates a file in exactly that folder, and removes it again. */
function makeFile(folder: FileTarget): Outcome {
  const { dev, ino } = statSync(folder.path, { bigint: true });
  if (`${dev}:${ino}` !== folder.id) return refused(`${folder.path} is another folder here`);
  const path = join(folder.path, 'attack');
  writeFileSync(path, 'attack');
  rmSync(path);
  return reached(path);
}

function git(cwd: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync('git', args, { cwd, encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(stderr.trim());
  return stdout.trim();
}

function moveTo(worktree: string, commit: string): Outcome {
  git(worktree, 'update-ref', 'refs/heads/main', commit);
  return git(worktree, 'rev-parse', 'refs/heads/main') === commit
    ? reached('git update-ref')
    : refused('it is where it was');
}

function throughGit(cwd: string, ...args: string[]): Outcome {
  git(cwd, ...args);
  return reached(`git ${args[0]}`);
}

export const fileAttacks: Record<string, Attack> = {
  'fifo-path': ({ fifo, inputLine }) => append(fifo.path, fifo, inputLine),
  'fifo-proc': ({ fifo, inputLine }) => throughProc(fifo, inputLine),
  /** Goes through another process's root folder. */
  'fifo-root': ({ fifo, inputLine }) =>
    firstOf(visibleProcesses().map((pid) => () => append(`/proc/${pid}/root${fifo.path}`, fifo, inputLine))),
  /** First removes the mount that hides the folder. */
  'fifo-unmask': ({ fifo, inputLine, folders }) => {
    const umount = folders.map(({ path }) => `umount -l '${path}'`).join('; ');
    for (const command of [umount, `unshare -Urm sh -c "${umount}"`]) spawnSync('sh', ['-c', command]);
    return append(fifo.path, fifo, inputLine);
  },
  'fifo-other': ({ other, inputLine }) => append(other.fifo.path, other.fifo, inputLine),
  'spool-path': ({ spool, outputLine }) => append(spool.path, spool, outputLine),
  'spool-proc': ({ spool, outputLine }) => throughProc(spool, outputLine),
  'store-read': ({ store }) =>
    withFile(store.path, O_RDONLY, store, (fd) => {
      const bytes = Buffer.alloc(6);
      readSync(fd, bytes, 0, 6, 0);
      return bytes.toString() === 'SQLite' ? reached(store.path) : refused('it holds something else');
    }),
  /** The first bytes never change, so rewriting them does no harm. */
  'store-write': ({ store }) =>
    withFile(store.path, O_RDWR, store, (fd) => {
      writeSync(fd, 'SQLite', 0);
      return reached(store.path);
    }),
  'data-dir': ({ folders }) => firstOf(folders.map((folder) => () => makeFile(folder))),
  'secret-files': ({ secretFiles, secret }) =>
    firstOf(
      secretFiles.map(
        (path) => () => (readFileSync(path, 'utf8').includes(secret) ? reached(path) : refused(`${path} is hidden`)),
      ),
    ),
  'settings-user': ({ home }) => overwrite(join(home, '.claude/settings.json'), SETTINGS),
  'settings-user-state': ({ home }) => rewrite(join(home, '.claude.json')),
  'settings-checkout': ({ repo }) => overwrite(join(repo, '.claude/settings.json'), SETTINGS),
  'settings-checkout-local': ({ repo }) => overwrite(join(repo, '.claude/settings.local.json'), SETTINGS),
  'settings-worktree': ({ worktree }) => overwrite(join(worktree, '.claude/settings.json'), SETTINGS),
  'settings-worktree-local': ({ worktree }) => overwrite(join(worktree, '.claude/settings.local.json'), SETTINGS),
  'servers-worktree': ({ worktree }) => overwrite(join(worktree, '.mcp.json'), SERVERS),
  'servers-checkout': ({ repo }) => overwrite(join(repo, '.mcp.json'), SERVERS),
  /** Claude Code's own record of the conversation. */
  conversation: ({ home }) => {
    const folder = join(home, '.claude/projects');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.jsonl'));
    return firstOf(files.map((name) => () => rewrite(join(folder, name))));
  },
  /** Files that shells, git and ssh read at their start. */
  home: ({ home }) =>
    firstOf(
      ['.bashrc', '.gitconfig', '.ssh/config', '.npmrc', 'attack'].map(
        (name) => () => overwrite(join(home, name), '# attack\n'),
      ),
    ),
  'git-config': ({ repo }) => {
    const path = join(repo, '.git/config');
    return firstOf([
      () => overwrite(path, `${readFileSync(path, 'utf8')}[core]\n\tfsmonitor = touch attack\n`),
      () => throughGit(repo, 'config', 'core.fsmonitor', 'touch attack'),
    ]);
  },
  'git-hook': ({ repo }) => {
    const hook = join(repo, '.git/hooks/post-merge');
    const outcome = overwrite(hook, '#!/bin/sh\ntouch attack\n');
    if (outcome.result === 'reached') chmodSync(hook, 0o755);
    return outcome;
  },
  'git-file': ({ worktree }) => withWriting(join(worktree, '.git'), readFileSync(join(worktree, '.git'), 'utf8')),
  'git-commondir': ({ worktree }) => {
    const path = join(git(worktree, 'rev-parse', '--absolute-git-dir'), 'commondir');
    return withWriting(path, readFileSync(path, 'utf8'));
  },
  'git-config-worktree': ({ worktree }) =>
    overwrite(join(git(worktree, 'rev-parse', '--absolute-git-dir'), 'config.worktree'), '[attack]\n\tis = here\n'),
  'git-main-branch': ({ repo, worktree }) => {
    const path = join(repo, '.git/refs/heads/main');
    return firstOf([
      () => rewrite(path), // to its current commit, which proves that it could be moved
      () => moveTo(worktree, git(worktree, 'commit-tree', 'HEAD^{tree}', '-m', 'attack')),
    ]);
  },
  'checkout-file': ({ repo }) => rewrite(join(repo, 'README.md')),
  'other-worktree': ({ other }) => rewrite(join(other.worktree, 'README.md')),
  /** Output of another session's commands, and files that its `claude` reads from there. */
  'other-temporary': ({ other }) => makeFile(other.temporary),
};
