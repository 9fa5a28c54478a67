import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { boardWarnings } from './board-warnings.ts';
import type { HandshakeReport } from './report.ts';
import { saveReport } from './report-file.ts';

const report = (version: string, verdict: 'yes' | 'no'): HandshakeReport => ({
  version,
  at: '2026-01-02T03:04:05.000Z',
  checks: [
    {
      id: 'echo',
      sentence: 'confirms an answer',
      reliedOnFor: 'delivery',
      verdict,
      why: verdict === 'yes' ? null : 'silent',
    },
  ],
});

it('warns on the board when the newest claude no longer keeps what an earlier one did, and only then', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'callboard-warnings-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  expect(await boardWarnings(dataDir)).toEqual([]);
  await saveReport(dataDir, report('2.1.330', 'yes'));
  expect(await boardWarnings(dataDir)).toEqual([]);
  await saveReport(dataDir, report('2.1.340', 'no'));
  const [warning, ...others] = await boardWarnings(dataDir);
  expect(others).toEqual([]);
  expect(warning).toContain('2.1.340');
  expect(warning).toContain('confirms an answer');
  expect(warning).toContain('2.1.330');
});
