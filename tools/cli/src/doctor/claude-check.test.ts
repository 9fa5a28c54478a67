import { expect, it } from 'vitest';
import { REAL_CLAUDE } from '../../../../test-support/real-claude.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { putProgram, SYSTEM_PATH } from '../../test/programs.ts';
import { checkClaude } from './machine-checks.ts';

const env = { PATH: SYSTEM_PATH };

it('finds the named claude, and says what named it', async () => {
  const { finding, claude } = await checkClaude({ path: REAL_CLAUDE, from: 'CALLBOARD_CLAUDE_PATH' }, env);
  expect(finding.verdict).toBe('ok');
  expect(finding.found).toBe(`${claude?.version}, ${REAL_CLAUDE} (named by CALLBOARD_CLAUDE_PATH)`);
});

it('finds claude on PATH, or else the one that comes with Callboard', async () => {
  const folder = await temporaryFolder();
  const path = await putProgram(folder, 'claude', 'echo "9.8.7 (Claude Code)"');
  const onPath = await checkClaude(null, { PATH: `${folder}:${SYSTEM_PATH}` });
  expect(onPath.finding).toEqual({ verdict: 'ok', found: `9.8.7, ${path} (on PATH)`, advice: null });
  const bundled = await checkClaude(null, { PATH: '/nonexistent' });
  expect(bundled.finding.found).toContain('(comes with Callboard; none is on PATH)');
});

it('says what to install if claude is missing', async () => {
  const { finding, claude } = await checkClaude({ path: '/nonexistent/claude', from: '--claude' }, env);
  expect(claude).toBeNull();
  expect(finding).toMatchObject({
    verdict: 'problem',
    found: '--claude: there is no program at /nonexistent/claude',
    advice: expect.stringContaining('npm install -g @anthropic-ai/claude-code'),
  });
});

it('does not try out another program', async () => {
  const path = await putProgram(await temporaryFolder(), 'claude', 'echo "broken" >&2; exit 1');
  const { finding, claude } = await checkClaude({ path, from: '--claude' }, env);
  expect(claude).toBeNull();
  expect(finding).toMatchObject({ verdict: 'problem', found: expect.stringContaining('it prints "broken"') });
});
