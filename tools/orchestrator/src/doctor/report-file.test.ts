import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { DoctorFile, type HandshakeReport, readLastReports, saveReport } from './report.ts';

const report = (version: string, why: string | null = null): HandshakeReport => ({
  version,
  binary: null,
  at: '2030-01-01T00:00:00.000Z',
  checks: [
    { id: 'asks', sentence: 'asks', reliedOnFor: 'all', lack: 'much', verdict: why === null ? 'yes' : 'no', why },
  ],
});

it('keeps the newest report of each version, readable by the owner only', async () => {
  const dataDir = await temporaryFolder();
  expect(await readLastReports(dataDir)).toEqual([]);
  for (const each of [report('2.1.1'), report('2.1.2', 'so'), report('2.1.1', 'so')]) await saveReport(dataDir, each);
  expect(await readLastReports(dataDir)).toEqual([report('2.1.1', 'so'), report('2.1.2', 'so')]);
  const file = join(dataDir, 'doctor.json');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(DoctorFile.parse(JSON.parse(await readFile(file, 'utf8'))).reports).toHaveLength(2);
  expect(await readdir(dataDir)).toEqual(['doctor.json']);
});

it('keeps twenty versions', async () => {
  const dataDir = await temporaryFolder();
  for (let patch = 0; patch < 25; patch++) await saveReport(dataDir, report(`2.1.${patch}`));
  const versions = (await readLastReports(dataDir)).map(({ version }) => version);
  expect(versions).toHaveLength(20);
  expect(versions[0]).toBe('2.1.24');
});

it('does not create a data directory', async () => {
  const dataDir = join(await temporaryFolder(), 'none');
  expect(await saveReport(dataDir, report('2.1.1'))).toBe(false);
  expect(await readLastReports(dataDir)).toEqual([]);
});

it.each(['', 'not JSON', '{"reports":[{"version":1}]}'])('ignores a file that contains %j', async (text) => {
  const dataDir = await temporaryFolder();
  await writeFile(join(dataDir, 'doctor.json'), text);
  expect(await readLastReports(dataDir)).toEqual([]);
  expect(await saveReport(dataDir, report('2.1.1'))).toBe(true);
  expect(await readLastReports(dataDir)).toEqual([report('2.1.1')]);
});
