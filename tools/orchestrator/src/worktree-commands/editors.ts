import { setTimeout as sleep } from 'node:timers/promises';
import type { StageId } from '@callboard/contract';
import { Rejection } from '../lib/errors.ts';
import { pathExists } from '../lib/path-exists.ts';
import { detach, run } from '../lib/processes/processes.ts';
import { requireProject, requireStage } from '../store/require.ts';
import type { Store } from '../store/store.ts';
import type { RequireInPlace } from './command-place.ts';

/** Editors that open a folder given as their argument, in the order in which one is chosen. */
const KNOWN = [
  'code',
  'cursor',
  'windsurf',
  'zed',
  'zeditor',
  'idea',
  'webstorm',
  'pycharm',
  'goland',
  'subl',
  'codium',
];

/** Opens worktrees in the editor of the person who sits at this machine. */
export interface Editors {
  /** The commands of known editors on the user's PATH, in the order in which one is chosen. */
  list(): Promise<string[]>;
  /**
   * Opens the stage's worktree with the command of its project, or else with the first editor found. The editor lives on.
   * @returns the command
   * @throws Rejection `unknown_stage`, `no_worktree`; `no_editor` if there is none, or if its command fails at once; OperationalError `worktree_replaced`
   */
  open(stageId: StageId): Promise<string>;
}

export interface EditorsDeps {
  store: Store;
  requireInPlace: RequireInPlace;
  /** The user's environment. */
  env: Readonly<Record<string, string>>;
  /** How long a command is watched: the launcher of an editor ends soon, or stays for as long as its window. */
  watchMs?: number;
}

const WATCH_MS = 3_000;
const FIND_MS = 5_000;
/** The exit codes of a shell that found no such command, or may not run it. */
const NOT_FOUND = [126, 127];

export function createEditors({ store, requireInPlace, env, watchMs = WATCH_MS }: EditorsDeps): Editors {
  async function list(): Promise<string[]> {
    const find = `for one in ${KNOWN.join(' ')}; do command -v "$one" >/dev/null && echo "$one"; done`;
    const { stdout } = await run({ command: '/bin/sh', args: ['-c', find], env, timeoutMs: FIND_MS });
    return stdout.split('\n').filter((name) => name !== '');
  }

  return {
    list,
    async open(stageId) {
      const { worktree, projectId } = await requireStage(store.read, stageId);
      const { settings, path } = await requireProject(store.read, projectId);
      if (worktree === null || (worktree.isCleanedUp === true && !(await pathExists(worktree.path))))
        throw new Rejection('no_worktree', `${stageId} has no worktree on the disk. Start the stage to create one.`);
      requireInPlace({ path }, worktree);
      const command = settings.editor ?? (await list())[0];
      if (command === undefined) throw new Rejection('no_editor', `No editor was found on PATH. ${NAME_ONE}`);
      const nothing = { path: '/dev/null', flags: 'r+' };
      const { exit } = await detach({
        command: '/bin/sh',
        args: ['-c', `${command} "$1"`, 'sh', worktree.path],
        cwd: worktree.path,
        env,
        stdio: [nothing, nothing, nothing],
      });
      const ended = await Promise.race([exit, sleep(watchMs, null, { ref: false })]);
      if (ended === null || !ended.known || ended.code === 0) return command;
      const how =
        ended.code !== null && NOT_FOUND.includes(ended.code)
          ? 'there is no such command on PATH'
          : `it ended with ${ended.code === null ? ended.signal : `exit code ${ended.code}`}`;
      throw new Rejection('no_editor', `\`${command}\` did not open ${worktree.path}: ${how}. ${NAME_ONE}`);
    },
  };
}

const NAME_ONE = "Name the editor's command in the settings of the project, or copy the path.";
