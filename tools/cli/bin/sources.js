/*
 * What Callboard is built from, in a clone. As old as bin/callboard.js: plain JavaScript, no syntax newer than Node 16.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const TOOLS = ['cli', 'contract', 'orchestrator', 'runtime', 'scripted-model', 'web-server'];
const PLACES = ['package-lock.json', 'scripts/bundles.ts'].concat(
  TOOLS.map((tool) => `tools/${tool}/src`),
  TOOLS.map((tool) => `tools/${tool}/package.json`),
  ['index.html', 'login.html', 'vite.config.ts'].map((name) => `tools/web-server/${name}`),
);

/** Where the fingerprint stands of the sources that a clone was built from last. */
export const builtFrom = (root) => join(root, 'tools', 'cli', 'dist', 'built-from');

/** Changes with every file that is added, removed or written: how many there are, and when the newest was written. */
export function fingerprint(root) {
  const seen = { files: 0, newest: 0 };
  for (const place of PLACES) look(join(root, place), seen);
  return `${seen.files} ${seen.newest}`;
}

/** Whether what was built is what the sources say now. */
export function isFresh(root) {
  try {
    return readFileSync(builtFrom(root), 'utf8') === fingerprint(root);
  } catch (error) {
    if (error.code === 'ENOENT') return false;
    throw error;
  }
}

function look(path, seen) {
  const stat = statSync(path);
  if (stat.isDirectory()) {
    for (const name of readdirSync(path)) if (!/\.test\.tsx?$/.test(name)) look(join(path, name), seen);
    return;
  }
  seen.files += 1;
  seen.newest = Math.max(seen.newest, stat.mtimeMs);
}
