import { mkdtemp, open, rm, stat, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { SandboxSupport } from '@callboard/contract';
import { userEnvironment } from '@callboard/runtime/environment';
import { messageOf, systemCode } from '@callboard/runtime/errors';
import { z } from 'zod';
import { openFifoWriter } from '../core/claude/channel.ts';
import { createLaunchFolder, launchFiles, openChildEnds, punchHole } from '../core/claude/claude-process.ts';
import { findClaude, readVersion, runClaude } from '../core/claude/claude-program.ts';
import { checkSandbox } from '../core/claude/sandbox.ts';
import { OperationalError } from '../lib/errors.ts';
import { searchPathForSandbox } from '../platform/bubblewrap.ts';
import { dataDirLayout } from '../platform/data-dir.ts';
import { pathExists } from '../platform/files.ts';
import { must } from '../platform/processes.ts';
import { newerThanThis } from '../store/sqlite/node-sqlite.ts';
import { storageErrorOf } from '../store/storage-error.ts';
import { requireStoreHere } from '../store/store-location.ts';

/** The `claude` that sessions would use. */
export interface InstalledClaude {
  path: string;
  where: 'given' | 'path' | 'bundled';
  /** Null if it does not print one. */
  version: string | null;
  /** What it did instead of printing its version. */
  complaint: string | null;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Finds `claude` as the orchestrator does and asks it for its version.
 * @param environment our own environment, of which the user's part is used
 * @throws OperationalError `claude_missing` that says what to do
 */
export async function inspectClaude(configured: string | null, environment: Environment): Promise<InstalledClaude> {
  const env = userEnvironment(environment);
  const path = await findClaude(configured, env.PATH);
  const onPath = (env.PATH ?? '').split(delimiter).includes(dirname(path));
  const where = configured !== null ? 'given' : onPath ? 'path' : 'bundled';
  return { path, where, ...(await readVersion(path, env)) };
}

const AuthStatus = z.object({ loggedIn: z.boolean(), authMethod: z.string().default('unknown') });

/**
 * Asks `claude` whether it is logged in, and how; null if it does not say. It has no network meanwhile. If it has never run
 * for this user, it gets a temporary config folder, so that it leaves no files: there is no login to find anyway.
 */
export async function askLogin(claude: string, environment: Environment): Promise<z.infer<typeof AuthStatus> | null> {
  const nowhere = 'http://127.0.0.1:9';
  const offline = { HTTPS_PROXY: nowhere, HTTP_PROXY: nowhere, https_proxy: nowhere, http_proxy: nowhere };
  const env = { ...userEnvironment(environment), ...offline, NO_PROXY: '', no_proxy: '' };
  const temporary = (await hasRun(env)) ? null : await mkdtemp(join(tmpdir(), 'callboard-doctor-'));
  try {
    const config: Record<string, string> = temporary === null ? {} : { CLAUDE_CONFIG_DIR: temporary };
    const { stdout } = await runClaude(claude, ['auth', 'status', '--json'], { ...env, ...config });
    return AuthStatus.parse(JSON.parse(stdout));
  } catch {
    return null;
  } finally {
    if (temporary !== null) await rm(temporary, { recursive: true, force: true });
  }
}

const hasRun = (env: Environment): Promise<boolean> =>
  pathExists(join(env.CLAUDE_CONFIG_DIR || env.HOME || homedir(), '.claude.json'));

/**
 * Runs a command in Claude Code's sandbox as a session would. Leaves nothing behind. Never throws.
 * @param environment our own environment, of which the user's part is used
 */
export async function inspectSandbox(
  environment: Readonly<Record<string, string | undefined>>,
  isRoot: boolean,
): Promise<SandboxSupport> {
  const env = userEnvironment(environment);
  if (!isRoot) return checkSandbox(env);
  const folder = await mkdtemp(join(tmpdir(), 'callboard-doctor-')).catch(() => null);
  if (folder === null) return checkSandbox(env);
  try {
    return await checkSandbox({ ...env, PATH: await searchPathForSandbox(env.PATH ?? '', folder, isRoot) });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What a start would find where it looks for the store. */
export interface InspectedStore {
  /** Why it would be refused, in words that hold no secret; null if it would not. */
  storageError: string | null;
  /** The version of the database's server; null for a store in a file, or if it does not answer. */
  server: string | null;
}

/**
 * Looks for the store of a data directory. Writes nothing.
 * @param askServer asks the server of the shared store for its version; null without one
 */
export async function inspectStore(
  dataDir: string,
  askServer: (() => Promise<string>) | null,
): Promise<InspectedStore> {
  try {
    await requireStoreHere(dataDirLayout(dataDir), { dataDir, isShared: askServer !== null });
    if (askServer !== null) return { storageError: null, server: await askServer() };
    return { storageError: newerThanThis(await versionInFile(dataDirLayout(dataDir).database)), server: null };
  } catch (error) {
    const storageError = error instanceof OperationalError ? error.message : storageErrorOf(error)?.text;
    if (storageError === undefined) throw error;
    return { storageError, server: null };
  }
}

/** Where SQLite's file format has the version of the schema. */
const USER_VERSION_AT = 60;

/** Reads the version without opening the database, which would write beside it. 0 without a file, and in one that is none of SQLite. */
async function versionInFile(path: string): Promise<number> {
  const header = Buffer.alloc(USER_VERSION_AT + 4);
  try {
    await using file = await open(path, 'r');
    await file.read(header, 0, header.length, 0);
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
  }
  return header.readUInt32BE(USER_VERSION_AT);
}

/** What launches need from the file system of their folders: null if it works, otherwise what happened. */
export interface FileSystemProbe {
  fifo: string | null;
  holes: string | null;
}

const FILE_BYTES = 256 * 1024;

/**
 * Tries it in a temporary folder within `folder`.
 * @throws a system error when no folder can be created
 */
export async function probeFileSystem(folder: string): Promise<FileSystemProbe> {
  const own = await mkdtemp(join(folder, '.doctor-'));
  try {
    return {
      fifo: await complaintOf(tryFifo(join(own, 'launch'))),
      holes: await complaintOf(tryHoles(join(own, 'spool'))),
    };
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

/** Uses a launch's FIFO as a launch does. */
async function tryFifo(folder: string): Promise<void> {
  await createLaunchFolder(folder);
  const ends = await openChildEnds(folder);
  try {
    const writer = openFifoWriter(launchFiles(folder).input);
    try {
      const line = 'a line\n';
      await writer.write(line);
      const { buffer, bytesRead } = await ends.input.read(Buffer.alloc(line.length));
      if (buffer.toString('utf8', 0, bytesRead) !== line)
        throw new Error('the line that was read differs from the line that was written');
    } finally {
      writer.close();
    }
  } finally {
    await ends.close();
  }
}

/** Frees disk space as is done for the stored part of a spool. */
async function tryHoles(file: string): Promise<void> {
  await writeFile(file, Buffer.alloc(FILE_BYTES, 'x'), { flush: true });
  await must(punchHole(file, FILE_BYTES));
  const { size } = await stat(file);
  if (size !== FILE_BYTES) throw new Error('the file became shorter');
}

const complaintOf = (attempt: Promise<void>): Promise<string | null> => attempt.then(() => null, messageOf);
