#!/usr/bin/env node
/*
 * Runs dist/main.js. In a clone it builds changed sources first and uses the bundled Node, because the host's may be too old.
 * This file itself must run on old versions: plain JavaScript, no syntax newer than Node 16.
 *
 * It becomes the program itself (execve), which saves a process, if the Node that runs it can do that (from 23.11 on). Otherwise it starts
 * the other Node as a second process. The IPC pipe to that carries no messages: its end tells the supervisor that this process was killed.
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
/** Whether this is a clone, with its own Node and sources to build, or else the installed package. */
const isClone = existsSync(buildScript);

/** Returns the binary of the npm package `node`, searched for where Node itself looks for packages; null if there is none. */
function findBundledNode() {
  const name = process.platform === 'win32' ? 'node.exe' : 'node';
  for (let folder = packageFolder; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', 'node', 'bin', name);
    if (existsSync(candidate)) return candidate;
    if (folder === dirname(folder)) return null;
  }
}

function candidates() {
  const bundled = isClone ? findBundledNode() : null; // beside an installed package it would belong to somebody else
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

/** Tries one Node after the other: a Node that was installed for another system cannot start. */
function run(nodes, reason) {
  if (nodes.length === 0) {
    fail(reason);
    return;
  }
  afterBuild(nodes[0], () => start(nodes));
}

/** Whether this Node starts here. Asked before execve, which ends older versions of Node if it fails. */
function canStart(node) {
  return realpathSync(node) === process.execPath || spawnSync(node, ['--version'], { stdio: 'ignore' }).status === 0;
}

function start(nodes) {
  const args = ['--disable-sigusr1', '--max-semi-space-size=1', main].concat(process.argv.slice(2));
  if (process.execve && canStart(nodes[0])) process.execve(nodes[0], [nodes[0]].concat(args), process.env);
  const child = spawn(nodes[0], args, {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  const forwarders = ['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => ({ signal, pass: () => child.kill(signal) }));
  const stopForwarding = () => {
    for (const { signal, pass } of forwarders) process.removeListener(signal, pass);
  };
  for (const { signal, pass } of forwarders) process.on(signal, pass);
  child.on('error', (error) => {
    if (child.pid !== undefined) return; // a signal could not be forwarded: the child has already ended
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
 * Builds the program if its sources have changed, and calls `then` if it can run; if not, the cause is already printed. The
 * installed package has no sources.
 */
function afterBuild(node, then) {
  if (!isClone || isFresh(workspace)) {
    then();
    return;
  }
  const endProgress = sayBuilding();
  const build = spawn(node, [buildScript], { cwd: workspace, stdio: ['ignore', 'ignore', 'inherit'] });
  build.on('error', () => {
    endProgress();
    then(); // this Node cannot start: `start` reports it
  });
  build.on('exit', (code) => {
    endProgress();
    if (code === 0) {
      then();
      return;
    }
    process.stderr.write(
      'callboard: the build failed. Run `npm install`, then `npm run build`, in the folder of Callboard.\n',
    );
    process.exitCode = 1;
  });
}

/** Says that it builds, on a terminal with the seconds that it takes. Returns how to take the line off the terminal. */
function sayBuilding() {
  const text = 'callboard: the sources have changed; building';
  if (!process.stderr.isTTY) {
    process.stderr.write(`${text}.\n`);
    return () => {};
  }
  const since = Date.now();
  const draw = () => process.stderr.write(`\r\x1b[K${text}... ${Math.floor((Date.now() - since) / 1000)} s`);
  draw();
  const timer = setInterval(draw, 1000);
  return () => {
    clearInterval(timer);
    process.stderr.write('\r\x1b[K');
  };
}

run(candidates(), 'the Node that comes with Callboard was not found');
