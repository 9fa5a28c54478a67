import type { CodeHostKind, FailedCheck, HostComment, IssuesQuery, PullRequest } from '@callboard/contract';

/** A pull request as a code host tells of it. */
export type HostPullRequest = Omit<PullRequest, 'host' | 'unresolved' | 'checkedAt' | 'stale' | 'isSettled'>;

export interface NewPullRequest {
  title: string;
  body: string;
  draft: boolean;
  base: string;
  branch: string;
  /** Variables for the program, by which it can be found. */
  marker: Readonly<Record<string, string>>;
}

/** A failed check with the end of its log; null if the host keeps none that we can read. */
export interface CheckLog extends FailedCheck {
  log: string | null;
}

/** An issue as a code host tells of it. */
export interface HostIssue {
  number: number;
  title: string;
  body: string;
  url: string;
  labels: string[];
  author: string | null;
  updatedAt: string | null;
}

/**
 * A repository on GitHub or GitLab, through the program that the person has installed and logged in (`gh`, `glab`).
 * @throws by all functions, Refusal `no_code_host`, `code_host_login`, `code_host_unreachable`, `pull_request_refused`
 */
export interface CodeHost {
  readonly kind: CodeHostKind;
  /** `gh` or `glab`. */
  readonly program: string;
  /** Returns if the person is logged in there. */
  requireLogin(signal: AbortSignal): Promise<void>;
  /** Returns the pull requests of a branch, newest first. */
  ofBranch(branch: string, signal: AbortSignal): Promise<HostPullRequest[]>;
  /** Opens a pull request. What it returns may be incomplete; `read` tells all. */
  create(wanted: NewPullRequest, signal: AbortSignal): Promise<void>;
  read(number: number, signal: AbortSignal): Promise<HostPullRequest>;
  /** Returns how many review threads are not resolved; null if the host does not tell. */
  countUnresolved(number: number, signal: AbortSignal): Promise<number | null>;
  /** Returns the comments that are not resolved. */
  comments(number: number, signal: AbortSignal): Promise<HostComment[]>;
  /** Returns open issues, at most `LISTED_ISSUES`. */
  issues(query: IssuesQuery, signal: AbortSignal): Promise<HostIssue[]>;
  issue(number: number, signal: AbortSignal): Promise<HostIssue>;
  failedChecks(number: number, signal: AbortSignal): Promise<FailedCheck[]>;
  /** Returns the ends of the logs of these failed checks. */
  logs(number: number, names: readonly string[], signal: AbortSignal): Promise<CheckLog[]>;
}
