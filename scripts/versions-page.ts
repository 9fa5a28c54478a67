import { OLDEST_CLAUDE } from '../tools/orchestrator/src/core/claude/claude-program.ts';
import type { KnownVersion, KnownVersions } from '../tools/orchestrator/src/doctor/doctor.ts';
import { compatibilityChecks } from '../tools/orchestrator/src/doctor/promises.ts';
import { markdownTable } from './markdown-table.ts';

/** The text of `docs/cli-versions.md`, from the results of `npm run versions`. */
export function versionsPage({ at, versions }: KnownVersions, pinned: string): string {
  const rows = versions.map((found) => [
    found.version === pinned ? `**${found.version}** (pinned)` : found.version,
    found.date,
    promisesOf(found),
    missing(found),
    testsOf(found),
  ]);
  return `# Releases of Claude Code

\`npm run versions\` writes this page (last on ${at.slice(0, 10)}, on Linux x64). It tries the pinned release, the newest release of each fortnight of the
half-year before it, and 2.0.77. With each it checks the promises of \`callboard doctor\`, then some of the integration tests (the first session, the
protocol, approvals, the queue, restarts) on the scripted model.

**The oldest supported release is ${OLDEST_CLAUDE}.** With older ones an allowed tool does not run, since they do not accept a bare \`allow\`. Callboard refuses to
start a stage with them, and says which version it found and how to update; the board still opens. They are tried with the doctor only.

${markdownTable(['version', 'published', 'promises kept', 'missing', 'integration tests'], rows)}

## What is missing

${markdownTable(['missing', 'what people read', 'seen', 'in'], gaps(versions))}

${failedTests(versions)}

## What Callboard shows

- A warning above the board names what is missing.
- Each stage that runs with the release has a line below the heading of its page (open it for the list), an icon on its card and a
  notice in its transcript. The details show the version. The API has both as \`cliVersion\` and \`cliGaps\` of the session.
- Callboard reads the options of the installed program from \`claude --help\`. If \`--include-partial-messages\`,
  \`--forward-subagent-text\`, \`--include-hook-events\` or \`--effort\` is missing, it leaves the option out and shows the gap.
- A release that is not in the table is tried once, in the background, when Callboard starts or first finds it. The result is
  kept in \`doctor.json\` in the data directory.
`;
}

function promisesOf({ broken, untried }: KnownVersion): string {
  const others = Object.keys(untried).length;
  const kept = compatibilityChecks.length - Object.keys(broken).length - others;
  return `${kept} of ${compatibilityChecks.length}${others === 0 ? '' : `, ${others} not tried`}`;
}

/** The promises that a release does not keep, and whether it lacks options. */
function missing({ broken, without }: KnownVersion): string {
  const ids = Object.keys(broken).map((id) => `\`${id}\``);
  return [...ids, ...(without.length === 0 ? [] : ['options'])].join(', ') || 'nothing';
}

function testsOf({ tests }: KnownVersion): string {
  if (tests === null) return 'not run';
  return tests.failed.length === 0 ? `${tests.passed} passed` : `${tests.passed} passed, ${tests.failed.length} failed`;
}

/** One row for each gap and each way in which it was seen. */
function gaps(versions: readonly KnownVersion[]): string[][] {
  const promises = compatibilityChecks.flatMap(({ id, lack }) => {
    const reasons = Map.groupBy(
      versions.filter(({ broken }) => id in broken),
      ({ broken }) => broken[id],
    );
    return [...reasons].map(([why, found]) => [`\`${id}\``, lack, why ?? '', listed(found)]);
  });
  const lacks = new Set(versions.flatMap(({ without }) => without));
  const options = [...lacks].map((lack) => [
    'an option',
    lack,
    'not in `--help`',
    listed(versions.filter(({ without }) => without.includes(lack))),
  ]);
  return [...promises, ...options];
}

function failedTests(versions: readonly KnownVersion[]): string {
  const names = new Set(versions.flatMap(({ tests }) => tests?.failed ?? []));
  if (names.size === 0) return 'No integration test failed.';
  const lines = [...names].map(
    (name) => `- "${name}": ${listed(versions.filter(({ tests }) => tests?.failed.includes(name)))}`,
  );
  return `Integration tests that failed, by their names on that day:\n\n${lines.join('\n')}`;
}

const listed = (versions: readonly KnownVersion[]): string => versions.map(({ version }) => version).join(', ');
