import { OLDEST_CLAUDE } from '../tools/orchestrator/src/claude/program/claude-program.ts';
import type { KnownVersion, KnownVersions } from '../tools/orchestrator/src/doctor/doctor.ts';
import { claudePromises } from '../tools/orchestrator/src/doctor/promises.ts';
import { compareVersions } from '../tools/orchestrator/src/lib/versions.ts';
import { markdownTable } from './markdown-table.ts';

/** `docs/cli-versions.md`, from what `npm run versions` found. */
export function versionsPage({ at, versions }: KnownVersions, pinned: string): string {
  const rows = versions.map((found) => [
    found.version === pinned ? `**${found.version}** (pinned)` : found.version,
    found.date,
    `${claudePromises.length - Object.keys({ ...found.broken, ...found.untried }).length} of ${claudePromises.length}`,
    missing(found),
    testsOf(found),
    shown(found),
  ]);
  const head = ['version', 'published', 'promises kept', 'what is missing', 'integration tests', 'in Callboard'];
  return `# Releases of Claude Code

This page is written by \`npm run versions\` (last on ${at.slice(0, 10)}, on Linux x64). It installs the pinned release and the newest one of each
fortnight of half a year before it, and tries with each the promises of \`callboard doctor\`, then a part of the integration tests (the first session,
the protocol, approvals, the queue, restarts) on the scripted model. Releases that Callboard refuses are tried with the doctor alone.

**The oldest release that Callboard works with is ${OLDEST_CLAUDE}.** Older ones take no bare \`allow\`: an allowed tool does not run, so a stage would stand
still. Callboard refuses to start a stage with one, says its version and how to update, and the board still opens.

${markdownTable(head, rows)}

Callboard shows what is missing as a warning above the board, and for each stage that runs with that release: a line under the head of the stage's page,
which lists what is missing when it is opened, an icon with the same words on its card, and a notice in its transcript. The version stands in the stage's details;
the API has both as \`cliVersion\` and \`cliGaps\` of the session. A release that is not on
this list is tried in the background, once, when Callboard starts or first meets it; what came of it is kept in \`doctor.json\` in the data directory.

## Why

${reasons(versions)}
`;
}

/** In the words that people see on a card. */
function missing({ broken, untried, without }: KnownVersion): string {
  const lacks = claudePromises.flatMap(({ id, lack }) => (id in broken ? [lack] : []));
  const others = Object.keys(untried).length;
  const rest = others === 0 ? [] : [`${others} not tried for want of these`];
  return [...without, ...lacks, ...rest].join('; ') || 'nothing';
}

function testsOf({ tests }: KnownVersion): string {
  if (tests === null) return 'not run';
  return tests.failed.length === 0 ? `${tests.passed} passed` : `${tests.passed} passed, ${tests.failed.length} failed`;
}

function shown({ version, broken, without }: KnownVersion): string {
  if (compareVersions(version, OLDEST_CLAUDE) < 0) return 'refused when a stage starts';
  return Object.keys(broken).length + without.length === 0 ? 'runs' : 'runs, and says what is missing';
}

function reasons(versions: readonly KnownVersion[]): string {
  const told = versions.flatMap(({ version, broken, tests }) => {
    const lines = Object.entries(broken).map(([id, why]) => `- \`${id}\`: ${why}`);
    const failed = (tests?.failed ?? []).map((name) => `- test "${name}"`);
    const all = [...lines, ...failed];
    return all.length === 0 ? [] : [`${version}:\n\n${all.join('\n')}`];
  });
  return told.length === 0 ? 'Every promise is kept by every release above.' : told.join('\n\n');
}
