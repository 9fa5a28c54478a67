import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A pull request of the scripted code host. */
export interface ScriptedRequest {
  number: number;
  branch: string;
  base: string;
  title: string;
  body: string;
  draft: boolean;
  state: 'open' | 'merged' | 'closed';
  mergeCommit: string | null;
  conflicts: boolean;
  checks: { name: string; outcome: 'success' | 'failure' | 'pending'; job: number }[];
  threads: { id: string; path: string; line: number; author: string; body: string; isResolved: boolean }[];
}

/** An open issue of the scripted code host. */
export interface ScriptedIssue {
  number: number;
  title: string;
  body: string;
  labels: string[];
}

/** What the scripted `gh` and `glab` answer from. */
export interface HostState {
  /** The bare repository that stands for the one on the host. */
  remote: string;
  isLoggedIn: boolean;
  /** What a call fails with if its arguments contain `when`. */
  failure: { when: string; stderr: string; exitCode: number } | null;
  /** A file whose existence lets a creating call go on, after the request was made. */
  pauseAfterCreate: string | null;
  /** `owner/name` of the repository that the remote is a fork of; null if it is none. */
  parent: string | null;
  /** On GitLab: the fork is set to take its merge requests itself. */
  isForItself: boolean;
  requests: ScriptedRequest[];
  logs: Record<string, string>;
  issues: ScriptedIssue[];
}

export const readState = (folder: string): HostState =>
  JSON.parse(readFileSync(join(folder, 'state.json'), 'utf8')) as HostState; // written below

export function writeState(folder: string, state: HostState): void {
  const file = join(folder, 'state.json');
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(state));
  renameSync(`${file}.${process.pid}`, file);
}

export const noteCall = (folder: string, call: readonly string[]): void =>
  appendFileSync(join(folder, 'calls.jsonl'), `${JSON.stringify(call)}\n`);
