#!/usr/bin/env node
/*
 * Runs dist/main.js; in a clone on the Node that comes with it, because the host's may be too old. This file itself
 * has to run on old versions: plain JavaScript, no syntax newer than Node 16. In a clone it builds first what has changed.
 *
 * A Node that is good enough becomes the program itself, in the same process; so the command line of the supervisor names
 * tools/cli/dist, and there is one process less. Another Node is started as a second process; the IPC pipe to it carries no
 * messages, its closing tells the supervisor that this process was killed.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isFresh } from './sources.js';

const OLDEST_NODE = 24;
const packageFolder = dirname(dirname(realpathSync(fileURLToPath(import.meta.url))));
const main = join(packageFolder, 'dist', 'main.js');
const workspace = dirname(dirname(packageFolder));
const buildScript = join(workspace, 'scripts', 'build.ts');
/** Whether this is a clone, which brings its Node along and is built where it lies; else the package that people install. */
const isClone = existsSync(buildScript);

/** The binary of the npm package `node`, looked for where Node itself looks for packages; null if there is none. */
function findBundledNode() {
  const name = process.platform === 'win32' ? 'node.exe' : 'node';
  for (let folder = packageFolder; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', 'node', 'bin', name);
    if (existsSync(candidate)) return candidate;
    if (folder === dirname(folder)) return null;
  }
}

function candidates() {
  const bundled = isClone ? findBundledNode() : null; // of an installed package it would be somebody else's
  const own = Number(process.versions.node.split('.')[0]) >= OLDEST_NODE ? process.execPath : null;
  return [bundled, own].filter((candidate) => candidate !== null);
}

function fail(reason) {
  process.stderr.write(
    isClone
      ? `callboard: needs Node ${OLDEST_NODE} or newer. This is Node ${process.versions.node}, and ${reason}.\n` +
          'Run `npm install` in the folder of Callboard, which installs the Node it needs.\n'
      : `callboard: needs Node ${OLDEST_NODE} or newer. This is Node ${process.versions.node}. Install a newer Node and try again.\n`,
  );
  process.exitCode = 1;
}

/** Tries one Node after the other: one that was installed for another system cannot be started. */
function run(nodes, reason) {
  if (nodes.length === 0) {
    fail(reason);
    return;
  }
  if (!isBuilt(nodes[0])) return;
  const args = ['--disable-sigusr1', '--max-semi-space-size=1', main].concat(process.argv.slice(2));
  if (process.execve && realpathSync(nodes[0]) === process.execPath)
    process.execve(process.execPath, [process.execPath].concat(args), process.env);
  const child = spawn(nodes[0], args, {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  const forwarders = ['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => ({ signal, pass: () => child.kill(signal) }));
  const stopForwarding = () => {
    for (const { signal, pass } of forwarders) process.removeListener(signal, pass);
  };
  for (const { signal, pass } of forwarders) process.on(signal, pass);
  child.on('error', (error) => {
    if (child.pid !== undefined) return; // a signal that could not be passed on: it has ended by itself
    stopForwarding();
    run(nodes.slice(1), `the Node that comes with Callboard (${nodes[0]}) cannot be started: ${error.message}`);
  });
  child.on('exit', (code, signal) => {
    if (child.pid === undefined) return;
    stopForwarding();
    if (signal === null) process.exitCode = code;
    else process.kill(process.pid, signal);
  });
}

/**
 * Builds what runs where its sources have changed; the package that people install has no sources.
 * @returns whether it can be run; if not, the cause was said
 */
function isBuilt(node) {
  if (!isClone || isFresh(workspace)) return true;
  process.stderr.write('callboard: building, as the sources have changed.\n');
  const { status, error } = spawnSync(node, [buildScript], { cwd: workspace, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status === 0 || error !== undefined) return true; // a Node that cannot be started is told of by whoever starts it
  process.stderr.write(
    'callboard: it could not be built. Run `npm install`, then `npm run build`, in the folder of Callboard.\n',
  );
  process.exitCode = 1;
  return false;
}

run(candidates(), 'the Node that comes with Callboard was not found');
