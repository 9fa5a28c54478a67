import { isWhole, regressionOf } from './report.ts';
import { readLastReports } from './report-file.ts';

/** What the last `callboard doctor` found that people at the board should know: promises that no longer hold. */
export async function boardWarnings(dataDir: string): Promise<string[]> {
  const [last, ...earlier] = await readLastReports(dataDir);
  if (last === undefined || isWhole(last)) return [];
  const regression = regressionOf(last, earlier);
  if (regression === null) return [];
  const lost = regression.lost.map(({ sentence }) => sentence).join('; ');
  return [
    `Claude Code ${last.version} no longer keeps what ${regression.since} did: ${lost}. Run "npx callboard doctor" for the details.`,
  ];
}
