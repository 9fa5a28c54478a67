import { readFileSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { COMPILE_CACHE } from '../compile-cache.ts';
import { git } from '../git.ts';
import { type HostState, readState, writeState } from './state.ts';

/** A code host without a network: a bare repository on disk, and programs that answer from a file. */
export interface ScriptedHost {
  /** The folder with the programs, for the front of a PATH. */
  readonly bin: string;
  readonly remote: string;
  state(): HostState;
  change(fields: Partial<HostState>): void;
  /** Changes the only pull request. */
  changeRequest(fields: Partial<HostState['requests'][number]>): void;
  /** What the programs were asked, oldest first. */
  calls(): string[][];
}

/** Writes the programs `gh` and `glab`, and makes an empty bare repository. */
export async function createScriptedHost(folder: string): Promise<ScriptedHost> {
  const [bin, remote] = [join(folder, 'bin'), join(folder, 'remote.git')];
  await mkdir(bin, { recursive: true });
  await mkdir(remote);
  await git(remote, 'init', '--quiet', '--bare', '--initial-branch=main');
  for (const program of ['gh', 'glab']) {
    const node = [process.execPath, '--v8-pool-size=0', '--import', COMPILE_CACHE];
    const line = [...node, join(import.meta.dirname, 'program.ts'), folder, program].map((word) => `'${word}'`);
    await writeFile(join(bin, program), `#!/bin/sh\nexec ${line.join(' ')} "$@"\n`);
    await chmod(join(bin, program), 0o755);
  }
  const start: HostState = {
    remote,
    isLoggedIn: true,
    failure: null,
    pauseAfterCreate: null,
    parent: null,
    isForItself: false,
    requests: [],
    logs: {},
    issues: [],
  };
  writeState(folder, start);
  await writeFile(join(folder, 'calls.jsonl'), '');
  const state = () => readState(folder);
  return {
    bin,
    remote,
    state,
    change: (fields) => writeState(folder, { ...state(), ...fields }),
    changeRequest: (fields) =>
      writeState(folder, { ...state(), requests: state().requests.map((one) => ({ ...one, ...fields })) }),
    calls: () =>
      readFileSync(join(folder, 'calls.jsonl'), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as string[]), // written by the programs
  };
}

/** Makes the bare repository the remote of a repository, under the address of a code host. */
export async function addRemote(repo: string, { remote }: ScriptedHost, address: string): Promise<void> {
  await git(repo, 'remote', 'add', 'origin', address);
  await git(repo, 'config', `url.${remote}.insteadOf`, address);
  await git(repo, 'push', '--quiet', 'origin', 'main');
}
