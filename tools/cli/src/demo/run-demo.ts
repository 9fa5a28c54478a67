import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { NewStage, ProjectId, StageId } from '@callboard/contract';
import { createHttpTransport, type Transport } from '@callboard/contract/client';
import { inspectClaude } from '@callboard/orchestrator/doctor';
import type { Environment } from '@callboard/runtime/environment';
import { messageOf } from '@callboard/runtime/errors';
import { untilAborted } from '@callboard/runtime/waits';
import { claudeEnvironment, parseScripts, startScriptedModel } from '@callboard/scripted-model';
import type { StartOptions } from '../command-line/start-options.ts';
import { CliError } from '../errors.ts';
import { explainStartFailure } from '../explain-start-failure.ts';
import { offerLoginLinks } from '../login-links.ts';
import { inPackage, type Platform, type StopSignals } from '../platform.ts';
import { acquireSupervisorLock, serveControl } from '../supervisor/control-socket.ts';
import { createSupervisor } from '../supervisor/supervisor.ts';
import { cleanUp, demoLayout, startCleanUpGuard } from './clean-up.ts';

const NO_LOGIN =
  'this is a demo, which leaves nothing behind, so no terminal can log in to it. Use its board, or log in to one that callboard start runs.';

const SCRIPTS = inPackage('demo/scripts.yaml');
const UNSCRIPTED =
  'In this demo a script plays me, and it has no answer to that. In a repository of yours I would do it now: `npm start -- --repo <a git repository>`.';

/** Runs the demo until it is stopped. Leaves neither processes nor files behind. */
export async function runDemo(given: StartOptions, platform: Platform, signals: StopSignals): Promise<void> {
  const claudePath = await requireClaude(given, platform);
  await using stack = new AsyncDisposableStack();
  const root = await makeFolder(stack, platform);
  const { dataDir, repository, home, tmp } = demoLayout(root);
  for (const folder of [dataDir, home, tmp]) await mkdir(folder, { mode: 0o700 });
  const scripts = parseScripts(await readFile(SCRIPTS, 'utf8'));
  const model = await startScriptedModel({ scripts, unscripted: UNSCRIPTED, maxRequests: 1 });
  stack.defer(model.close);
  const env = { ...claudeEnvironment(model.url, home, platform.env.PATH), TMPDIR: tmp };
  await makeSampleRepository(repository, env);

  const token = randomBytes(32).toString('base64url');
  const tokenSha256 = createHash('sha256').update(token, 'utf8').digest('hex');
  const own = { claudePath, dataDir, repos: [repository], tokenSha256, startedIn: null, startCommand: null };
  const options = { ...given, ...own };
  const lock = await acquireSupervisorLock(dataDir, options.port, platform.now());
  stack.defer(lock.release);
  const log = (line: string) => platform.err(`callboard: ${line}`);
  const supervisor = createSupervisor({ options, servers: platform.servers, env, log, isTakeover: false });
  stack.defer(supervisor.stop);
  signals.kill.addEventListener('abort', supervisor.kill, { once: true });
  try {
    const { port, loginLink } = await supervisor.start(signals.stop);
    await lock.setPort(port);
    if (!(await fill(loginLink, token, signals.stop)))
      log('a prepared stage is not finished yet; it continues on its own.');
    const closeControl = await serveControl(dataDir, {
      createLink: () => supervisor.createLink(signals.stop),
      listProblems: supervisor.problems,
      logIn: () => {
        throw new CliError(NO_LOGIN);
      },
    }).catch((error: unknown) => log(`callboard link will not work with this demo: ${messageOf(error)}`));
    if (closeControl) stack.defer(closeControl);
    const withTour = { supervisor, loginLink: `${loginLink}&tour`, options, stop: signals.stop };
    const links = await offerLoginLinks(withTour, platform);
    stack.defer(links);
    log(`another login link from another terminal: npx callboard link --data-dir ${dataDir}`);
    platform.out('This is a demo: a script plays Claude. Ctrl-C ends the demo and removes everything.');
    await untilAborted(signals.stop);
  } catch (error) {
    if (!signals.stop.aborted) throw await explainStartFailure(error, options);
  }
}

async function fill(loginLink: string, token: string, signal: AbortSignal): Promise<boolean> {
  return fillBoard(new URL(loginLink).origin, token, signal).catch((error: unknown) => {
    if (signal.aborted) throw error;
    throw new CliError(`the sample board cannot be filled: ${messageOf(error)}`);
  });
}

/** Finds `claude` before anything starts: without it there is nothing to show. */
async function requireClaude({ claudePath }: StartOptions, { env }: Platform): Promise<string> {
  const { path, version, complaint } = await inspectClaude(claudePath, env).catch((error: unknown) => {
    throw new CliError(messageOf(error));
  });
  if (version === null) throw new CliError(`${path} cannot be used: ${complaint}`);
  return path;
}

/** Creates the demo's folder. Its disposal runs last: by then everything in it has ended except the sessions. */
async function makeFolder(stack: AsyncDisposableStack, { endAllSessions, err }: Platform): Promise<string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'callboard-demo-')));
  const dismissGuard = await startCleanUpGuard(root);
  stack.defer(async () => {
    const failed = await cleanUp(root, endAllSessions);
    if (failed.length > 0)
      err(`callboard: these could not be ended and are still running: ${failed.join(', ')}; see ${root}`);
    await dismissGuard();
  });
  return root;
}

const FINISH_MS = 60_000;

/**
 * Creates the demo's stages through the public API, as any program with a token can.
 * @returns whether the stage to review has finished; false if it takes too long, which is harmless
 */
async function fillBoard(origin: string, token: string, signal: AbortSignal): Promise<boolean> {
  const transport = createHttpTransport({ origin, token });
  const { seq, projects } = await transport.command('get_board', {}, signal);
  const projectId = projects[0]?.id;
  if (projectId === undefined) throw new Error('the board has no project');
  const create = (stage: DemoStage, dependsOn: StageId[] = []) => createStage(transport, projectId, stage, dependsOn);
  const finished = await create(finishedStage);
  const isFinished = await finish(transport, finished, seq, signal);
  for (const stage of otherStages) await create(stage);
  await create(waitingStage, [finished]);
  await transport.command('import_stages', { projectId, path: IMPORT_FOLDER }, signal);
  return isFinished;
}

async function createStage(transport: Transport, projectId: ProjectId, stage: DemoStage, dependsOn: StageId[]) {
  const reply = await transport.command('create_stage', { ...stage, projectId, dependsOn });
  return reply.stage.id;
}

/** Allows every request of the stage until its turn is over. */
async function finish(transport: Transport, stageId: StageId, since: number, signal: AbortSignal): Promise<boolean> {
  const enough = new AbortController();
  const timer = setTimeout(() => enough.abort(), FINISH_MS);
  try {
    for await (const item of transport.events({ since }, AbortSignal.any([signal, enough.signal]))) {
      if (item.type === 'approval-requested' && item.data.stageId === stageId) {
        const { requestId } = item.data;
        await transport.command('approve_tool', { stageId, requestId, decision: 'allow' }, signal);
      }
      const isOver = item.type === 'session-updated' && item.data.stageId === stageId && item.data.lastTurn !== null;
      if (isOver) return true;
    }
    signal.throwIfAborted();
    return false;
  } finally {
    clearTimeout(timer);
    enough.abort();
  }
}

/** A stage of the demo. Its title tells a newcomer what to do with it. */
export type DemoStage = Omit<NewStage, 'projectId' | 'dependsOn'>;

/** Created and brought to review before anybody looks. It may edit files; the demo allows its command. */
export const finishedStage: DemoStage = {
  title: 'Tidy README (finish me)',
  prompt: 'The README has a TODO. Write what it asks for, and commit it.',
  permissionMode: 'acceptEdits',
  autoStart: true,
};

/** Waits until a person has completed the finished stage. */
export const waitingStage: DemoStage = {
  title: 'Explain checks (waits, then starts)',
  prompt: 'Now that the README names the checks, tell me in one sentence what they look at.',
  priority: 3,
  autoStart: true,
};

/** Some start at once, so that there is something to see; a person starts the others. */
export const otherStages: readonly DemoStage[] = [
  {
    title: 'Run the checks (allow me)',
    prompt: 'Run the checks of this repository and tell me what they say.',
    priority: 0,
    autoStart: true,
  },
  {
    title: 'Explain the shop (open me: live)',
    prompt: 'Explain to a new colleague how this shop computes what a customer pays.',
    priority: 1,
    autoStart: true,
  },
  {
    title: 'Round the totals (start me: a diff)',
    prompt: 'Receipts show totals such as 7.556499999999999 EUR. Round them to whole cents.',
    priority: 1,
  },
  {
    title: 'Payment (start me: questions)',
    prompt: 'Let customers pay online. Ask me about whatever is not clear.',
    priority: 1,
  },
  {
    title: 'Discount codes (start me: a plan)',
    prompt: 'Customers should be able to enter a discount code. Make a plan before you change anything.',
    priority: 2,
    permissionMode: 'plan',
  },
  {
    title: 'Code review (start me: two helpers)',
    prompt: 'Have one helper review the prices and another one measure the code, and sum up.',
    priority: 2,
  },
  {
    title: 'Tax rates (start me: failure)',
    prompt: 'Look up the current tax rates and compare them with ours.',
    priority: 3,
  },
];

/** The folder in the repository with the stages to import. */
const IMPORT_FOLDER = 'stages';

const execute = promisify(execFile);

/** Overrides the machine's settings, and sets an identity, which git needs even to merge a stage. */
const SETTINGS = {
  'user.name': 'Callboard Demo',
  'user.email': 'demo@example.invalid',
  'commit.gpgsign': 'false',
  'core.autocrlf': 'false',
};

/**
 * Creates the sample repository.
 * @param env an environment without the user's settings: its HOME is the demo's
 * @throws CliError if git is missing or fails
 */
async function makeSampleRepository(path: string, env: Environment): Promise<void> {
  const git = (...args: string[]) => execute('git', args, { cwd: path, env: { ...env } });
  await mkdir(path);
  try {
    await git('init', '--quiet');
    await git('symbolic-ref', 'HEAD', 'refs/heads/main'); // older versions of git lack `init --initial-branch`
    for (const [name, value] of Object.entries(SETTINGS)) await git('config', name, value);
    for (const { message, files } of sampleCommits) {
      for (const [name, text] of Object.entries(files)) {
        await mkdir(dirname(join(path, name)), { recursive: true });
        await writeFile(join(path, name), text);
      }
      await git('add', '--all');
      await git('commit', '--quiet', '--message', message);
    }
  } catch (error) {
    throw new CliError(`the sample repository cannot be made: ${messageOf(error)}`);
  }
}

/** A commit of the sample repository: its message, and the files it adds. */
export interface SampleCommit {
  readonly message: string;
  readonly files: Readonly<Record<string, string>>;
}

const README = `# Shop

A tiny shop: a cart, prices with tax, and a receipt.

TODO: say how to run the checks
`;

const CART = `import { priceOf } from './prices.ts';

export interface Line {
  product: string;
  quantity: number;
}

/** The sum of a cart, in euros. */
export function total(lines: Line[]): number {
  let sum = 0;
  for (const line of lines) {
    sum += priceOf(line.product) * line.quantity;
  }
  return sum;
}
`;

const PRICES = `const prices: Record<string, number> = {
  teapot: 24.9,
  cup: 6.35,
  kettle: 39,
};

const TAX = 0.19;

/** The price of a product with tax, in euros. */
export function priceOf(product: string): number {
  const net = prices[product];
  if (net === undefined) throw new Error(\`no such product: \${product}\`);
  return net * (1 + TAX);
}
`;

const RECEIPT = `import { type Line, total } from './cart.ts';

/** The receipt of a cart as text. */
export function receipt(lines: Line[]): string {
  const rows = lines.map(({ product, quantity }) => \`\${quantity} x \${product}\`);
  return [...rows, \`Total: \${total(lines)} EUR\`].join('\\n');
}
`;

const CHECK = `#!/bin/sh
# Looks the sources over.
for file in src/*.ts; do
  echo "ok   $file ($(wc -l <"$file" | tr -d ' ') lines)"
done
echo "All checks passed."
`;

const IMPORTED_STAGE = `---
id: STAGE-001-002-003
title: 'Wish list (start me: from a file)'
priority: 4
status: Not Started
---

Add a wish list to the shop: a file of its own, with functions to add and to remove a product.
`;

/** The sample repository: a tiny shop, with a stage in a Markdown file. */
export const sampleCommits: readonly SampleCommit[] = [
  {
    message: 'A cart, prices and a receipt',
    files: { 'README.md': README, 'src/cart.ts': CART, 'src/prices.ts': PRICES, 'src/receipt.ts': RECEIPT },
  },
  {
    message: 'Checks, and the first planned stage',
    files: { 'scripts/check.sh': CHECK, 'stages/STAGE-001-002-003.md': IMPORTED_STAGE },
  },
];
