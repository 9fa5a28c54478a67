import { OLDEST_CLAUDE } from '../tools/orchestrator/src/core/claude/claude-program.ts';
import type { KnownVersion, KnownVersions } from '../tools/orchestrator/src/doctor/doctor.ts';
import { compatibilityChecks } from '../tools/orchestrator/src/doctor/promises.ts';
import { compareVersions } from '../tools/orchestrator/src/lib/text.ts';
import { markdownTable } from './markdown-table.ts';

/** The text of `docs/cli-versions.md`, from the results of `npm run versions`. */
export function versionsPage({ at, versions }: KnownVersions, pinned: string): string {
  const rows = versions.map((found) => [
    found.version === pinned ? `**${found.version}** (pinned)` : found.version,
    found.date,
    `${compatibilityChecks.length - Object.keys({ ...found.broken, ...found.untried }).length} of ${compatibilityChecks.length}`,
    missing(found),
    testsOf(found),
    shown(found),
  ]);
  const head = ['version', 'published', 'promises kept', 'what is missing', 'integration tests', 'in Callboard'];
  return `# Releases of Claude Code

\`npm run versions\` generates this page (last on ${at.slice(0, 10)}, on Linux x64). It installs the pinned release and the newest release of each
fortnight of the half-year before it. With each one it tries the promises of \`callboard doctor\`, then some of the integration tests (the first session,
the protocol, approvals, the queue, restarts) on the scripted model. Releases that Callboard refuses are tried with the doctor only.

**The oldest supported release is ${OLDEST_CLAUDE}.** Older ones do not accept a bare \`allow\`: an allowed tool does not run, so a stage would hang.
Callboard refuses to start a stage with one, and says which version it found and how to update. The board still opens.

${markdownTable(head, rows)}

Callboard shows what is missing as a warning above the board and, for each stage that runs with that release, as a line below the heading of the stage's page
(open it for the list), an icon with the same text on the stage's card, and a notice in its transcript. The stage's details show the version.
The API has both as \`cliVersion\` and \`cliGaps\` of the session. A release that is not in
this table is tried once, in the background, when Callboard starts or first finds it; the result is kept in \`doctor.json\` in the data directory.

## Why

${reasons(versions)}
`;
}

/** What is missing, in the words that people see on a card. */
function missing({ broken, untried, without }: KnownVersion): string {
  const lacks = compatibilityChecks.flatMap(({ id, lack }) => (id in broken ? [lack] : []));
  const others = Object.keys(untried).length;
  const rest = others === 0 ? [] : [`${others} not tried because they depend on these`];
  return [...without, ...lacks, ...rest].join('; ') || 'nothing';
}

function testsOf({ tests }: KnownVersion): string {
  if (tests === null) return 'not run';
  return tests.failed.length === 0 ? `${tests.passed} passed` : `${tests.passed} passed, ${tests.failed.length} failed`;
}

function shown({ version, broken, without }: KnownVersion): string {
  if (compareVersions(version, OLDEST_CLAUDE) < 0) return 'refused when a stage starts';
  return Object.keys(broken).length + without.length === 0 ? 'runs' : 'runs, and shows what is missing';
}

function reasons(versions: readonly KnownVersion[]): string {
  const reported = versions.flatMap(({ version, broken, tests }) => {
    const lines = Object.entries(broken).map(([id, why]) => `- \`${id}\`: ${why}`);
    const failed = (tests?.failed ?? []).map((name) => `- test "${name}"`);
    const all = [...lines, ...failed];
    return all.length === 0 ? [] : [`${version}:\n\n${all.join('\n')}`];
  });
  return reported.length === 0 ? 'Every release above keeps every promise.' : reported.join('\n\n');
}
