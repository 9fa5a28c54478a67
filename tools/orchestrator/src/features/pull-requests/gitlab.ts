import { type FailedCheck, type HostComment, LISTED_ISSUES } from '@callboard/contract';
import { z } from 'zod';
import {
  type CheckLog,
  type CodeHost,
  type HostIssue,
  type HostPullRequest,
  mustProgram,
  type NewPullRequest,
  notLoggedIn,
  OptionalWebAddress,
  type ProgramCall,
  type ProgramDeps,
  parseAnswer,
  tryProgram,
  WebAddress,
} from './code-host.ts';
import { NAMED_CHECKS } from './github.ts';

const PROGRAM = 'glab';
const text = z.string().nullish();

const MergeRequest = z.object({
  iid: z.int().positive(),
  web_url: WebAddress,
  title: z.string().default(''),
  state: z.string(),
  draft: z.boolean().nullish(),
  work_in_progress: z.boolean().nullish(),
  source_branch: z.string(),
  target_branch: z.string(),
  source_project_id: z.int().nullish(),
  target_project_id: z.int().nullish(),
  sha: text,
  merge_commit_sha: text,
  squash_commit_sha: text,
  has_conflicts: z.boolean().nullish(),
  // The pipelines of a fork's merge requests run in the fork.
  head_pipeline: z.object({ id: z.int(), status: z.string(), project_id: z.int().nullish() }).nullish(),
});
type MergeRequest = z.infer<typeof MergeRequest>;

const Job = z.object({
  id: z.int(),
  name: z.string(),
  web_url: OptionalWebAddress,
  allow_failure: z.boolean().nullish(),
});

const GitLabIssue = z
  .object({
    iid: z.int().positive(),
    title: z.string(),
    description: text,
    web_url: WebAddress,
    labels: z.array(z.string()).nullish(),
    author: z.object({ username: z.string() }).nullish(),
    updated_at: text,
  })
  .transform(
    ({ iid, title, description, web_url, labels, author, updated_at }): HostIssue => ({
      number: iid,
      title,
      body: description ?? '',
      url: web_url,
      labels: labels ?? [],
      author: author?.username ?? null,
      updatedAt: updated_at ?? null,
    }),
  );

const Discussion = z.object({
  id: z.string(),
  notes: z.array(
    z.object({
      body: z.string(),
      resolvable: z.boolean().nullish(),
      resolved: z.boolean().nullish(),
      author: z.object({ username: z.string() }).nullish(),
      position: z
        .object({ new_path: text, old_path: text, new_line: z.int().nullish(), old_line: z.int().nullish() })
        .nullish(),
    }),
  ),
});

const PASSED = ['success', 'skipped', 'manual'];
const FAILED = ['failed', 'canceled'];

function checksOf({ head_pipeline: pipeline }: MergeRequest): HostPullRequest['checks'] {
  if (pipeline == null) return 'none';
  if (FAILED.includes(pipeline.status)) return 'failing';
  return PASSED.includes(pipeline.status) ? 'passing' : 'pending';
}

function mergeRequestOf(reported: MergeRequest, failing: readonly FailedCheck[]): HostPullRequest {
  const isOpen = reported.state === 'opened' || reported.state === 'locked';
  const isDraft = reported.draft ?? reported.work_in_progress ?? false;
  return {
    number: reported.iid,
    url: reported.web_url,
    title: reported.title,
    base: reported.target_branch,
    branch: reported.source_branch,
    head: reported.sha ?? '',
    state: isOpen ? (isDraft ? 'draft' : 'open') : reported.state === 'merged' ? 'merged' : 'closed',
    checks: checksOf(reported),
    failing: failing.slice(0, NAMED_CHECKS).map(({ name }) => name),
    conflicts: isOpen && reported.has_conflicts === true,
    // Without a merge commit (a fast-forward), the newest commit of the branch is the one that brought it in.
    mergeCommit:
      reported.state === 'merged'
        ? (reported.merge_commit_sha ?? reported.squash_commit_sha ?? reported.sha ?? null)
        : null,
  };
}

const discussionsOf = (reported: z.infer<typeof Discussion>[]): HostComment[] =>
  reported
    .filter(({ notes: [first] }) => first?.resolvable === true && first.resolved !== true)
    .map(({ id, notes }) => ({
      id,
      path: notes[0]?.position?.new_path ?? notes[0]?.position?.old_path ?? null,
      line: notes[0]?.position?.new_line ?? notes[0]?.position?.old_line ?? null,
      author: notes[0]?.author?.username ?? 'somebody',
      text: notes
        .map(({ body, author }, at) => (at === 0 ? body : `${author?.username ?? 'somebody'} answered: ${body}`))
        .join('\n\n'),
      url: null,
    }));

/** The fields of a new merge request, as `glab` takes them. */
function fieldsOf({ title, body, draft, base, branch }: Omit<NewPullRequest, 'marker'>, fork: GitLabFork | undefined) {
  const fields = {
    source_branch: branch,
    target_branch: base,
    description: body,
    title: draft ? `Draft: ${title}` : title,
    ...(fork !== undefined && { target_project_id: String(fork.parentId) }),
  };
  return Object.entries(fields).flatMap(([name, value]) => ['--raw-field', `${name}=${value}`]);
}

/** Whether the branch of a merge request is in the fork; without one, in the project itself. */
const isOf = ({ source_project_id: from, target_project_id: into }: MergeRequest, fork: GitLabFork | undefined) =>
  fork === undefined ? from === into : from === fork.id;

/** A project whose merge requests go into the one that it is a fork of. */
export interface GitLabFork {
  /** `owner/name` of the fork, which the branches are pushed to. */
  path: string;
  id: number;
  parentId: number;
}

interface GitLabDeps extends ProgramDeps {
  /** With one, `address` is that of its parent. */
  fork?: GitLabFork;
}

/** GitLab, also one of a company, through `glab api`: its answers are those of GitLab, the same in every release of glab. */
export function createGitLab(deps: GitLabDeps): CodeHost {
  const { address, fork } = deps;
  const own = address === null ? ':fullpath' : encodeURIComponent(address.path);
  const host = address === null ? [] : ['--hostname', address.host];
  const call = (path: string, project: string | number = own, more: readonly string[] = []): ProgramCall => ({
    program: PROGRAM,
    args: ['api', ...host, ...more, `projects/${project}/${path}`],
  });
  const ask = async <T extends z.ZodType>(schema: T, asked: ProgramCall, signal: AbortSignal): Promise<z.output<T>> =>
    parseAnswer(PROGRAM, schema, await mustProgram(deps, asked, signal));
  const get = <T extends z.ZodType>(schema: T, path: string, signal: AbortSignal) => ask(schema, call(path), signal);

  const failedJobs = async ({ head_pipeline: pipeline }: MergeRequest, signal: AbortSignal) =>
    pipeline == null || !FAILED.includes(pipeline.status)
      ? []
      : (
          await ask(
            Job.array(),
            call(`pipelines/${pipeline.id}/jobs?scope[]=failed&per_page=100`, pipeline.project_id ?? own),
            signal,
          )
        ).filter(({ allow_failure: mayFail }) => mayFail !== true);
  const request = (number: number, signal: AbortSignal) => get(MergeRequest, `merge_requests/${number}`, signal);
  const checkOf = ({ name, web_url: url }: z.infer<typeof Job>): FailedCheck => ({ name, url: url ?? null });
  const comments = async (number: number, signal: AbortSignal) =>
    discussionsOf(await get(Discussion.array(), `merge_requests/${number}/discussions?per_page=100`, signal));

  return {
    kind: 'gitlab',
    program: PROGRAM,

    async requireLogin(signal) {
      const { failed } = await tryProgram(deps, { program: PROGRAM, args: ['auth', 'status', ...host] }, signal);
      if (failed) throw notLoggedIn(PROGRAM, address?.host ?? null);
    },

    async ofBranch(branch, signal) {
      const query = new URLSearchParams({ source_branch: branch, state: 'all', per_page: '30' });
      const found = await get(MergeRequest.array(), `merge_requests?${query}`, signal);
      return found
        .filter((one) => one.source_branch === branch && isOf(one, fork))
        .map((one) => mergeRequestOf(one, []))
        .toSorted((a, b) => b.number - a.number);
    },

    async create({ marker, ...order }, signal) {
      // That of a fork is made in the fork, for its parent.
      const from = fork === undefined ? own : encodeURIComponent(fork.path);
      const post = call('merge_requests', from, ['--method', 'POST', ...fieldsOf(order, fork)]);
      await mustProgram(deps, { ...post, marker }, signal);
    },

    async read(number, signal) {
      const reported = await request(number, signal);
      return mergeRequestOf(reported, (await failedJobs(reported, signal)).map(checkOf));
    },
    async issues({ q = '', label = '' }, signal) {
      const query = new URLSearchParams({ state: 'opened', per_page: String(LISTED_ISSUES) });
      if (q !== '') query.set('search', q);
      if (label !== '') query.set('labels', label);
      return get(GitLabIssue.array(), `issues?${query}`, signal);
    },
    issue: (number, signal) => get(GitLabIssue, `issues/${number}`, signal),
    countUnresolved: async (number, signal) => (await comments(number, signal)).length,
    comments,
    failedChecks: async (number, signal) => (await failedJobs(await request(number, signal), signal)).map(checkOf),

    async logs(number, names, signal) {
      const logs: CheckLog[] = [];
      const reported = await request(number, signal);
      for (const job of await failedJobs(reported, signal)) {
        if (!names.includes(job.name)) continue;
        const trace = call(`jobs/${job.id}/trace`, reported.head_pipeline?.project_id ?? own);
        const { failed, stdout } = await tryProgram(deps, trace, signal);
        logs.push({ ...checkOf(job), log: failed || stdout.trim() === '' ? null : stdout });
      }
      return logs;
    },
  };
}
