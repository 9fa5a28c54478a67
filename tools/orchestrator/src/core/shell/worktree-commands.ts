import { createHash } from 'node:crypto';
import { readdir, readFile, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommandOutput, StageId, WorktreeCommand, WorktreeCommandKind } from '@callboard/contract';
import { createEmitter } from '@callboard/runtime/emitter';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { createKeyedMutex } from '../../lib/async.ts';
import { Rejection } from '../../lib/errors.ts';
import type { IsolationSupport } from '../../platform/bubblewrap.ts';
import { createProcessMarks } from '../../platform/child-processes.ts';
import type { Logger, Platform } from '../../platform/runtime.ts';
import type { PortRange } from '../../store/ports/stage-port.ts';
import { onEvents, requireProject, requireStage, type Store } from '../../store/store.ts';
import { type PlacedCommand, placeCommand, type RequireInPlace } from './command-sandbox.ts';
import { type CommandRun, commandsFolder, endCommand, outputFile, runCommand, tailOf } from './run-command.ts';

export interface WorktreeCommandsDeps {
  store: Store;
  platform: Platform;
  log: Logger;
  dataDir: string;
  /** The user's environment. */
  env: Readonly<Record<string, string>>;
  ports: Ports;
  isolation: () => Promise<IsolationSupport>;
  requireInPlace: RequireInPlace;
  /** The folders in the home folder that commands of the stage may write. */
  cachesOf: (stageId: StageId) => Promise<readonly string[]>;
  /** Between SIGTERM and SIGKILL. */
  graceMs: number;
}

/** What to run in the worktree of a stage. */
export interface CommandOrder {
  stageId: StageId;
  kind: WorktreeCommandKind;
  /** The name of the check or server; otherwise the kind. */
  name: string;
  /** A line for `/bin/sh`. */
  command: string;
  timeLimitMs: number | null;
  /** Who wants it; null: Callboard. */
  by: string | null;
  /** Which of the stage's ports is in `PORT`, from 0. */
  portOffset?: number;
}

export interface RunningCommand {
  command: WorktreeCommand;
  /** Resolves when it has ended with all its processes, and that is stored. Never rejects. */
  ended: Promise<WorktreeCommand>;
}

/**
 * Runs commands of the project in the worktrees of its stages. None outlives the orchestrator: those of an orchestrator that was
 * killed are ended by the next one, and count as interrupted.
 */
export interface WorktreeCommands {
  /** @throws Rejection `unknown_stage`, `no_worktree`, `command_running` (this kind and name), `disk_low`, `orchestrator_unreachable` (Callboard is stopping); OperationalError `worktree_replaced` */
  start(order: CommandOrder): Promise<RunningCommand>;
  /** Ends it for a person. Resolves when it has ended; at once if it has. @throws Rejection `unknown_command` */
  stop(stageId: StageId, commandId: string, by: string): Promise<WorktreeCommand>;
  /** Ends everything that runs in the stage's worktree. */
  endAllOf(stageId: StageId, reason: string): Promise<void>;
  /** Newest first. @throws Rejection `unknown_stage` */
  list(stageId: StageId): Promise<WorktreeCommand[]>;
  /** @throws Rejection `unknown_command` */
  find(stageId: StageId, commandId: string): Promise<WorktreeCommand>;
  /** @throws Rejection `unknown_command` */
  output(stageId: StageId, commandId: string, query: { after?: number | undefined }): Promise<CommandOutput>;
  /** The end of its output without escape sequences, for a message to Claude. */
  tail(command: Pick<WorktreeCommand, 'id' | 'stageId'>, maxBytes: number): Promise<string>;
  /** The pids of a running command; none of another. */
  pids(commandId: string): Promise<number[]>;
  /** Calls the listener after each end. Returns a function that unsubscribes. */
  onEnded(listener: (command: WorktreeCommand) => void): () => void;
  /** Ends everything. */
  shutDown(): Promise<void>;
}

/** How many runs of one kind and name are kept in a stage. */
const MAX_RUNS = 20;
const RESTARTED = 'Ended by a restart of Callboard. Run it again.';

interface Running {
  order: CommandOrder;
  run: CommandRun;
  ended: Promise<WorktreeCommand>;
}

export function createWorktreeCommands(deps: WorktreeCommandsDeps): WorktreeCommands {
  const { store, log, dataDir } = deps;
  const settled = settleInterrupted(deps).catch((error: unknown) =>
    log.error({ err: error }, 'ending the commands of an earlier run failed'),
  );
  const runs = createRuns(deps, settled);
  const { running } = runs;
  const starting = new Set<string>();
  const fileOf = ({ stageId, id }: Pick<WorktreeCommand, 'stageId' | 'id'>) => outputFile(dataDir, stageId, id);
  const unlisten = onEvents(store, ['stage-removed'], ({ data }) => {
    rm(join(commandsFolder(dataDir), data.stageId), { recursive: true, force: true }).catch((error: unknown) =>
      log.warn({ err: error, stageId: data.stageId }, 'the output of a removed stage was not deleted'),
    );
  });

  async function find(stageId: StageId, commandId: string): Promise<WorktreeCommand> {
    const command = await store.read.worktreeCommands.find(commandId);
    if (command === null || command.stageId !== stageId)
      throw new Rejection('unknown_command', `${stageId} has no such run of a command; only the newest are kept.`);
    return command;
  }

  return {
    async start(order) {
      const key = `${order.stageId} ${order.kind} ${order.name}`;
      if (starting.has(key)) throw new Rejection('command_running', `${order.name} is already starting.`);
      starting.add(key);
      try {
        return await runs.start(order);
      } finally {
        starting.delete(key);
      }
    },
    async stop(stageId, commandId, by) {
      // One that runs is ended even if the store cannot be read.
      const one = running.get(commandId);
      if (one === undefined || one.order.stageId !== stageId) return find(stageId, commandId);
      one.run.end({ state: 'stopped', reason: `Stopped by ${by}.` });
      return one.ended;
    },
    endAllOf: (stageId, reason) => runs.endAll(({ order }) => order.stageId === stageId, { state: 'stopped', reason }),
    async list(stageId) {
      await requireStage(store.read, stageId);
      return (await store.read.worktreeCommands.listOf(stageId)).toReversed();
    },
    find,
    output: async (stageId, commandId, { after }) => fileOf(await find(stageId, commandId)).read(after),
    tail: (command, maxBytes) => tailOf(fileOf(command), maxBytes),
    pids: async (commandId) => (await running.get(commandId)?.run.pids()) ?? [],
    onEnded: runs.onEnded,
    async shutDown() {
      unlisten();
      await settled;
      await runs.shutDown();
    },
  };
}

/** The runs that are under way. @param settled resolves when those of an earlier orchestrator are gone */
function createRuns(deps: WorktreeCommandsDeps, settled: Promise<unknown>) {
  const { store, log, dataDir, graceMs } = deps;
  const running = new Map<string, Running>();
  const commandEnded = createEmitter<WorktreeCommand>();
  let isDown = false;

  /** Stores the end and tells it. A store that fails has the run as interrupted after its next start. */
  async function settle(command: WorktreeCommand, run: CommandRun): Promise<WorktreeCommand> {
    const end = await run.ended;
    const done = { ...command, ...end, endedAt: deps.platform.now().toISOString() };
    await store
      .transact(async (tx) => {
        const known = await tx.worktreeCommands.find(command.id);
        if (known === null) return; // the stage was removed
        done.port = known.port;
        await tx.worktreeCommands.update(done);
        await tx.emit({ type: 'worktree-command-updated', data: done });
      })
      .catch((error: unknown) => log.error({ err: error, id: command.id }, 'storing the end of a command failed'));
    running.delete(command.id);
    commandEnded.emit(done);
    return done;
  }

  async function start(order: CommandOrder): Promise<RunningCommand> {
    await settled;
    const { stageId } = order;
    const stage = await requireStage(store.read, stageId);
    const project = await requireProject(store.read, stage.projectId);
    const { worktree } = stage;
    if (worktree === null)
      throw new Rejection('no_worktree', `${stageId} has no worktree yet. Start the stage to create one.`);
    const others = [...running.values()].filter(({ order }) => order.stageId === stageId);
    requireFree(order, others, isDown);
    deps.requireInPlace(project, worktree);
    const id = deps.platform.newWireId();
    const ports = await deps.ports.reserve(stageId, others.length === 0);
    const port = ports.base + (order.portOffset ?? 0);
    const caches = await deps.cachesOf(stageId);
    const place = { id, command: order.command, stage, project, worktree, ports, port, caches };
    const placed = await placeCommand(deps, place);
    const file = outputFile(dataDir, stageId, id);
    await file.create(); // first: a run that is stored counts as running
    const { command, old } = await record(deps, order, { id, placed });
    const mark = await createProcessMarks(dataDir).of(stageId);
    const run = runCommand({
      id,
      placed,
      mark,
      file,
      graceMs,
      timeLimitMs: order.timeLimitMs,
      onSpawned: (process) => store.transact((tx) => tx.worktreeCommands.setProcess(id, process)),
    });
    const ended = settle(command, run);
    running.set(id, { order, run, ended });
    if (isDown) run.end({ state: 'interrupted', reason: RESTARTED });
    forgetOutputs(deps, old);
    return { command, ended };
  }

  async function endAll(which: (one: Running) => boolean, how: Parameters<CommandRun['end']>[0]): Promise<void> {
    const chosen = [...running.values()].filter(which);
    for (const { run } of chosen) run.end(how);
    await Promise.all(chosen.map(({ ended }) => ended));
  }

  return {
    running: running as ReadonlyMap<string, Running>,
    start,
    endAll,
    onEnded: commandEnded.subscribe,
    async shutDown(): Promise<void> {
      isDown = true;
      await endAll(() => true, { state: 'interrupted', reason: RESTARTED });
    },
  };
}

function requireFree({ stageId, kind, name }: CommandOrder, others: readonly Running[], isDown: boolean): void {
  if (isDown) throw new Rejection('orchestrator_unreachable', 'Callboard is stopping, so nothing was run.');
  if (others.some(({ order }) => order.kind === kind && order.name === name))
    throw new Rejection('command_running', `${name} is already running in ${stageId}. Stop it first.`);
}

/** Stores the run before anything is spawned, and forgets the oldest runs of this kind and name. @returns those too */
async function record(
  { store }: WorktreeCommandsDeps,
  { stageId, kind, name, command: line, by }: CommandOrder,
  { id, placed }: { id: string; placed: PlacedCommand },
): Promise<{ command: WorktreeCommand; old: WorktreeCommand[] }> {
  return store.transact(async (tx) => {
    const reason = tx.diskPauseReason();
    if (reason !== null) throw new Rejection('disk_low', reason);
    const earlier = (await tx.worktreeCommands.listOf(stageId)).filter((one) => one.kind === kind && one.name === name);
    const command: WorktreeCommand = {
      id,
      stageId,
      kind,
      name,
      command: line,
      by,
      attempt: (earlier.at(-1)?.attempt ?? 0) + 1,
      state: 'running',
      exitCode: null,
      reason: null,
      isolation: placed.isolation,
      startedAt: tx.now,
      endedAt: null,
      port: null,
    };
    const old = earlier.filter(({ state }) => state !== 'running').slice(0, -(MAX_RUNS - 1));
    for (const one of old) await tx.worktreeCommands.remove(one.id);
    await tx.worktreeCommands.insert(command);
    await tx.emit({ type: 'worktree-command-updated', data: command });
    return { command, old };
  });
}

/** Deletes the output of runs that are no longer kept, in the background. */
function forgetOutputs({ dataDir, log }: WorktreeCommandsDeps, runs: readonly WorktreeCommand[]): void {
  for (const { id, stageId } of runs)
    outputFile(dataDir, stageId, id)
      .remove()
      .catch((error: unknown) => log.warn({ err: error, id }, 'old output was not deleted'));
}

/** Ends what an orchestrator that was killed had running. One that fails does not keep the others from being ended. */
async function settleInterrupted(deps: WorktreeCommandsDeps): Promise<void> {
  const { store, log } = deps;
  for (const { command, process } of await store.read.worktreeCommands.listRunning())
    await settleOne(deps, command, process).catch((error: unknown) =>
      log.error({ err: error, id: command.id }, 'ending a command of an earlier run failed'),
    );
}

async function settleOne(
  { store, platform, log, graceMs }: WorktreeCommandsDeps,
  command: WorktreeCommand,
  process: ProcessIdentity | null,
): Promise<void> {
  const isGone = await endCommand(
    { id: command.id, process, isSandboxed: command.isolation.level === 'sandbox' },
    graceMs,
  );
  if (!isGone) log.warn({ id: command.id }, 'some processes of a command could not be ended');
  const reason = isGone ? RESTARTED : `${RESTARTED} Some of its processes could not be ended.`;
  const ended: WorktreeCommand = {
    ...command,
    state: 'interrupted',
    reason,
    endedAt: platform.now().toISOString(),
  };
  await store.transact(async (tx) => {
    await tx.worktreeCommands.update(ended);
    await tx.emit({ type: 'worktree-command-updated', data: ended });
  });
}

/** How many ports each stage has. */
export const PORTS_OF_A_STAGE = 10;
/** Below the ports that the system gives to outgoing connections, above those of well-known programs. */
const FIRST = 21_000;
const RANGES = 1_000;

/** The ports of the stages' worktrees. */
export interface Ports {
  /** Returns the stage's ports; reserves free ones if it has none, or if another program listens on one and `isIdle`. */
  reserve(stageId: StageId, isIdle: boolean): Promise<PortRange>;
  release(stageId: StageId): Promise<void>;
}

/** @param dataDir two Callboards on one machine begin at different ports */
export function createPorts({
  store,
  dataDir,
  used = usedPorts,
}: {
  store: Store;
  dataDir: string;
  used?: () => Promise<ReadonlySet<number>>;
}): Ports {
  const offset = createHash('sha256').update(dataDir).digest().readUInt16BE() % RANGES;
  const inTurn = createKeyedMutex();

  async function reserve(stageId: StageId, isIdle: boolean): Promise<PortRange> {
    const known = await store.read.portRanges.list();
    const taken = await used();
    const isFree = (base: number) =>
      Array.from({ length: PORTS_OF_A_STAGE }, (_, n) => base + n).every((port) => !taken.has(port));
    const own = known.find((range) => range.stageId === stageId);
    if (own !== undefined && (!isIdle || isFree(own.base))) return own;
    const range = { stageId, place: own?.place ?? freeSlot(known), base: freeBase(known, isFree) };
    await store.transact((tx) => tx.portRanges.save(range));
    return range;
  }

  /** If every range is in use, the first one not of another stage: a server then says itself what is in its way. */
  function freeBase(known: readonly PortRange[], isFree: (base: number) => boolean): number {
    const reserved = new Set(known.map(({ base }) => base));
    const all = Array.from({ length: RANGES }, (_, n) => FIRST + ((offset + n) % RANGES) * PORTS_OF_A_STAGE);
    const left = all.filter((base) => !reserved.has(base));
    return left.find(isFree) ?? left[0] ?? FIRST;
  }

  return {
    reserve: (stageId, isIdle) => inTurn('ports', () => reserve(stageId, isIdle)),
    release: (stageId) => store.transact((tx) => tx.portRanges.remove(stageId)),
  };
}

function freeSlot(known: readonly PortRange[]): number {
  const places = new Set(known.map(({ place }) => place));
  for (let place = 0; ; place++) if (!places.has(place)) return place;
}

/** A TCP port of this machine on which a program listens. */
interface Listener {
  port: number;
  /** Identifies its socket. */
  inode: string;
}

/** The state of a socket that listens, in `/proc/net/tcp`. */
const LISTENS = '0A';

/** Reads the lines of `/proc/net/tcp` and `tcp6`. */
const parseListeners = (text: string): Listener[] =>
  text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
      const port = Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16);
      return state === LISTENS && Number.isInteger(port) ? [{ port, inode }] : [];
    });

async function listeners(): Promise<Listener[]> {
  const texts = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')));
  return texts.flatMap(parseListeners);
}

/** The ports on which any program listens. Needs `/proc`; without it there are none. */
const usedPorts = async (): Promise<ReadonlySet<number>> => new Set((await listeners()).map(({ port }) => port));

/** The ports on which these processes listen, ascending. */
export async function portsOf(pids: readonly number[]): Promise<number[]> {
  const sockets = new Set((await Promise.all(pids.map(socketsOf))).flat());
  const found = (await listeners()).filter(({ inode }) => sockets.has(inode)).map(({ port }) => port);
  return [...new Set(found)].toSorted((a, b) => a - b);
}

async function socketsOf(pid: number): Promise<string[]> {
  const names = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const links = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')));
  return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
}
