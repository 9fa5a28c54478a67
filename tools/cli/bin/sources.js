/*
 * The sources that a clone of Callboard is built from. Plain JavaScript without syntax newer than Node 16, like bin/callboard.js.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const TOOLS = ['cli', 'contract', 'orchestrator', 'runtime', 'scripted-model', 'store-postgres', 'web-server'];
const PLACES = ['package-lock.json', 'scripts/bundles.ts'].concat(
  TOOLS.map((tool) => `tools/${tool}/src`),
  TOOLS.map((tool) => `tools/${tool}/package.json`),
  ['index.html', 'login.html', 'vite.config.ts', 'vite.worker.config.ts'].map((name) => `tools/web-server/${name}`),
);

/** Returns the path of the file with the fingerprint of the last build's sources. */
export const builtFrom = (root) => join(root, 'tools', 'cli', 'dist', 'built-from');

/** Returns the number of source files and the time of the newest, which change when a file is added, removed or written. */
export function fingerprint(root) {
  const seen = { files: 0, newest: 0 };
  for (const place of PLACES) check(join(root, place), seen);
  return `${seen.files} ${seen.newest}`;
}

/** Whether the last build is of the current sources. */
export function isFresh(root) {
  try {
    return readFileSync(builtFrom(root), 'utf8') === fingerprint(root);
  } catch (error) {
    if (error.code === 'ENOENT') return false;
    throw error;
  }
}

function check(path, seen) {
  const stat = statSync(path);
  if (stat.isDirectory()) {
    for (const name of readdirSync(path)) if (!/\.test\.tsx?$/.test(name)) check(join(path, name), seen);
    return;
  }
  seen.files += 1;
  seen.newest = Math.max(seen.newest, stat.mtimeMs);
}
