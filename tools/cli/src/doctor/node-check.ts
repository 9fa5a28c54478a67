import { type Finding, ok, problem } from './machine-check.ts';

/** As in bin/callboard.js, which looks for one that is new enough. */
const OLDEST_NODE = 24;

export function checkNode(version: string, path: string): Finding {
  if (Number(version.split('.')[0]) >= OLDEST_NODE) return ok(`${version} (${path})`);
  return problem(
    `${version} (${path}); Callboard needs ${OLDEST_NODE} or newer`,
    'npm install (in the folder of Callboard)',
  );
}
