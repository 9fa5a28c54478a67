/** A small `gh` and `glab` at the edge of the process: answers from a state file, and writes down what it was asked. */
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { noteCall, readState, type ScriptedIssue, type ScriptedRequest, writeState } from './state.ts';

const [folder = '', program = '', ...args] = process.argv.slice(2);
noteCall(folder, [program, ...args]);
const state = readState(folder);

const say = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
function fail(text: string, exitCode = 1): never {
  process.stderr.write(`${text}\n`);
  process.exit(exitCode);
}
const option = (...names: string[]): string => {
  for (const [at, arg] of args.entries()) {
    if (names.includes(arg)) return args[at + 1] ?? '';
    const inOne = names.find((name) => arg.startsWith(`${name}=`));
    if (inOne !== undefined) return arg.slice(inOne.length + 1);
  }
  return '';
};

function headOf({ branch }: Pick<ScriptedRequest, 'branch'>): string {
  const all = ['--git-dir', state.remote, 'rev-parse', '--verify', `refs/heads/${branch}`];
  return execFileSync('git', all, { encoding: 'utf8' }).trim();
}

function requireNumber(given: string | undefined): ScriptedRequest {
  const request = state.requests.find(({ number }) => String(number) === given);
  return request ?? fail(`GraphQL: Could not resolve to a PullRequest with the number of ${given}.`);
}

async function create(
  wanted: Pick<ScriptedRequest, 'branch' | 'base' | 'title' | 'body' | 'draft'>,
): Promise<ScriptedRequest> {
  if (state.requests.some(({ branch, state }) => branch === wanted.branch && state === 'open'))
    fail(`a pull request for branch "${wanted.branch}" into branch "${wanted.base}" already exists`);
  const number = 12 + state.requests.length;
  const made: ScriptedRequest = {
    number,
    ...wanted,
    state: 'open',
    mergeCommit: null,
    conflicts: false,
    checks: [],
    threads: [],
  };
  headOf(made); // only a branch that was pushed
  writeState(folder, { ...state, requests: [...state.requests, made] });
  if (state.pauseAfterCreate !== null) {
    writeFileSync(`${state.pauseAfterCreate}.reached`, '');
    while (!existsSync(state.pauseAfterCreate)) await setTimeout(20);
  }
  return made;
}

/** The issues that have the words and the label. */
const issuesWith = (text: string, label: string): ScriptedIssue[] =>
  state.issues.filter(
    ({ title, labels }) => title.toLowerCase().includes(text.toLowerCase()) && (label === '' || labels.includes(label)),
  );
const requireIssue = (given: string | undefined): ScriptedIssue =>
  state.issues.find(({ number }) => String(number) === given) ??
  fail(`GraphQL: Could not resolve to an issue or pull request with the number of ${given}.`);

async function gh(): Promise<void> {
  const [group, verb, what] = args;
  if (group === 'issue' && verb === 'list') return say(issuesWith(option('--search'), option('--label')).map(ghIssue));
  if (group === 'issue' && verb === 'view') return say(ghIssue(requireIssue(what)));
  if (group === 'repo' && verb === 'view') {
    const [login, name] = state.parent?.split('/') ?? [];
    return say({ isFork: state.parent !== null, parent: state.parent === null ? null : { name, owner: { login } } });
  }
  if (group === 'pr' && state.parent !== null && !option('--repo').endsWith(`/${state.parent}`))
    fail(`the pull requests are in ${state.parent}`);
  if (group === 'pr' && verb === 'list')
    return say(state.requests.filter(({ branch }) => branch === option('--head')).map(ghRequest));
  if (group === 'pr' && verb === 'view') return say(ghRequest(requireNumber(what)));
  if (group === 'pr' && verb === 'create') {
    const [title, body] = [option('--title'), option('--body')];
    const head = option('--head').split(':');
    if ((head.length === 2) !== (state.parent !== null)) fail(`Head ref must be a branch: ${head.join(':')}`);
    const wanted = { title, body, branch: head.at(-1) ?? '', base: option('--base'), draft: args.includes('--draft') };
    const { number } = await create(wanted);
    return void process.stdout.write(`https://github.com/acme/shop/pull/${number}\n`);
  }
  if (group === 'api' && verb === 'graphql') {
    const number = args.find((arg) => arg.startsWith('number='))?.slice('number='.length);
    const nodes = requireNumber(number).threads.map(({ id, isResolved, path, line, author, body }) => ({
      id,
      isResolved,
      path,
      line,
      originalLine: line,
      comments: {
        nodes: [{ body, url: `https://github.com/acme/shop/pull/${number}#${id}`, author: { login: author } }],
      },
    }));
    return say({ data: { repository: { pullRequest: { reviewThreads: { nodes } } } } });
  }
  if (group === 'run' && verb === 'view') {
    const log = state.logs[option('--job')] ?? fail('log not found');
    return void process.stdout.write(log.replaceAll(/^/gm, 'build\tRun tests\t2026-11-23T14:00:00.0000000Z '));
  }
  fail(`unknown command: ${args.join(' ')}`);
}

const ghIssue = ({ number, title, body, labels }: ScriptedIssue): object => ({
  number,
  title,
  body,
  labels: labels.map((name) => ({ name })),
  author: { login: 'grace' },
  url: `https://github.com/acme/shop/issues/${number}`,
  updatedAt: '2026-11-23T14:00:00Z',
});

const CONCLUSIONS = { success: 'SUCCESS', failure: 'FAILURE', pending: '' } as const;

const ghRequest = (request: ScriptedRequest): object => ({
  number: request.number,
  url: `https://github.com/${state.parent ?? 'acme/shop'}/pull/${request.number}`,
  title: request.title,
  state: request.state.toUpperCase(),
  isDraft: request.draft,
  baseRefName: request.base,
  headRefName: request.branch,
  headRefOid: headOf(request),
  isCrossRepository: state.parent !== null,
  headRepositoryOwner: { login: state.parent === null ? 'acme' : 'ada' },
  mergeCommit: request.mergeCommit === null ? null : { oid: request.mergeCommit },
  mergeable: request.conflicts ? 'CONFLICTING' : 'MERGEABLE',
  statusCheckRollup: request.checks.map(({ name, outcome, job }) => ({
    __typename: 'CheckRun',
    name,
    status: outcome === 'pending' ? 'IN_PROGRESS' : 'COMPLETED',
    conclusion: CONCLUSIONS[outcome],
    detailsUrl: `https://github.com/acme/shop/actions/runs/1/job/${job}`,
  })),
});

async function glab(): Promise<void> {
  const [, project = '', path = ''] = /^projects\/([^/]+)(?:\/(.*))?$/.exec(args.at(-1) ?? '') ?? [];
  const fields = new Map(args.flatMap((arg, at) => (args[at - 1] === '--raw-field' ? [split(arg)] : [])));
  if (path === '') {
    const from = state.parent === null ? null : { id: PARENT_ID, path_with_namespace: state.parent };
    return say({ id: ownId(), forked_from_project: from, mr_default_target_self: state.isForItself });
  }
  const isPost = option('--method') === 'POST';
  requireProject(project, isPost, path, fields);
  if (isPost) {
    const title = fields.get('title') ?? '';
    const draft = title.startsWith('Draft: ');
    const [branch, base] = [fields.get('source_branch') ?? '', fields.get('target_branch') ?? ''];
    const made = await create({
      branch,
      base,
      draft,
      body: fields.get('description') ?? '',
      title: draft ? title.slice(7) : title,
    });
    return say(glabRequest(made));
  }
  const issue = /^issues(?:\/(\d+)|\?(.*))$/.exec(path);
  if (issue?.[1] !== undefined) return say(glabIssue(requireIssue(issue[1])));
  const query = new URLSearchParams(issue?.[2]);
  if (issue !== null) return say(issuesWith(query.get('search') ?? '', query.get('labels') ?? '').map(glabIssue));
  const list = /^merge_requests\?(.*)$/.exec(path);
  const branch = new URLSearchParams(list?.[1]).get('source_branch');
  if (list !== null) return say(state.requests.filter((one) => one.branch === branch).map(glabRequest));
  const one = /^merge_requests\/(\d+)(\/discussions)?/.exec(path);
  if (one !== null) {
    const request = requireNumber(one[1]);
    return say(one[2] === undefined ? glabRequest(request) : request.threads.map(glabThread));
  }
  const jobs = /^pipelines\/(\d+)\/jobs/.exec(path);
  if (jobs !== null)
    return say(
      requireNumber(jobs[1])
        .checks.filter(({ outcome }) => outcome === 'failure')
        .map(({ name, job }) => ({
          id: job,
          name,
          web_url: `https://gitlab.com/acme/shop/-/jobs/${job}`,
          allow_failure: false,
        })),
    );
  const trace = /^jobs\/(\d+)\/trace$/.exec(path);
  if (trace !== null) return void process.stdout.write(state.logs[trace[1] ?? ''] ?? fail('HTTP 404'));
  fail('HTTP 404 Not Found');
}

const PARENT_ID = 1;
const ownId = (): number => (state.parent === null ? PARENT_ID : 2);

/** Of a fork, merge requests are made in it for its parent, found in the parent, and run their pipelines in the fork. */
function requireProject(project: string, isPost: boolean, path: string, fields: ReadonlyMap<string, string>): void {
  if (state.parent === null || state.isForItself) return;
  const isInParent = decodeURIComponent(project) === state.parent;
  if (/^(?:pipelines|jobs)\//.test(path) ? project !== '2' : isInParent === isPost) fail('HTTP 404 Not Found');
  if (isPost && fields.get('target_project_id') !== String(PARENT_ID)) fail('HTTP 400: target_project_id');
}

const glabIssue = ({ number, title, body, labels }: ScriptedIssue): object => ({
  iid: number,
  title,
  description: body,
  labels,
  author: { username: 'grace' },
  web_url: `https://gitlab.com/acme/shop/-/issues/${number}`,
  updated_at: '2026-11-23T14:00:00Z',
});

const split = (field: string): [string, string] => [
  field.slice(0, field.indexOf('=')),
  field.slice(field.indexOf('=') + 1),
];

function glabRequest(request: ScriptedRequest): object {
  const failed = request.checks.some(({ outcome }) => outcome === 'failure');
  const status = failed ? 'failed' : 'success';
  const own = ownId();
  return {
    iid: request.number,
    web_url: `https://gitlab.com/${state.parent ?? 'acme/shop'}/-/merge_requests/${request.number}`,
    title: request.title,
    draft: request.draft,
    source_branch: request.branch,
    target_branch: request.base,
    state: request.state === 'open' ? 'opened' : request.state,
    source_project_id: own,
    target_project_id: state.isForItself ? own : PARENT_ID,
    sha: headOf(request),
    merge_commit_sha: request.mergeCommit,
    has_conflicts: request.conflicts,
    head_pipeline: request.checks.length === 0 ? null : { id: request.number, status, project_id: own },
  };
}

const glabThread = ({ id, path, line, author, body, isResolved }: ScriptedRequest['threads'][number]): object => ({
  id,
  notes: [
    {
      body,
      resolvable: true,
      resolved: isResolved,
      author: { username: author },
      position: { new_path: path, old_path: path, new_line: line, old_line: null },
    },
  ],
});

const { failure } = state;
if (failure !== null && args.join(' ').includes(failure.when)) fail(failure.stderr, failure.exitCode);
if (args[0] === 'auth') {
  if (!state.isLoggedIn) fail('You are not logged into any GitHub hosts. Run gh auth login to authenticate.');
} else if (!state.isLoggedIn) fail('To get started with GitHub CLI, please run:  gh auth login', 4);
else if (program === 'gh') await gh();
else await glab();
