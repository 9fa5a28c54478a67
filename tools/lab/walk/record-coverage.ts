/**
 * Loaded into every Node below by `NODE_OPTIONS=--import`: in Callboard's two servers it records at each mark, and at SIGUSR2,
 * which functions have run since the previous one, as a line of JSON in a file named after `WALK_COVERAGE` and the server.
 */
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { clock } from '../bench/turn/clock.ts';
import { ranIn } from './ran.ts';

const isOurs = ({ url }: { url: string }) => /^file:.*\/tools\/[\w-]+\/dist\//.test(url);

const server = /tools\/(orchestrator|web-server)\/dist/.exec(process.argv[1] ?? '')?.[1];

if (server !== undefined && process.env.WALK_COVERAGE !== undefined) {
  const file = `${process.env.WALK_COVERAGE}.${server}`;
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const take = (step: unknown, of: unknown) =>
    // Calls back at once, and restarts the count at zero.
    session.post('Profiler.takePreciseCoverage', (error, taken) => {
      if (error !== null) throw error;
      appendFileSync(
        file,
        `${JSON.stringify({ at: clock(), server, step, of, ran: ranIn(taken.result.filter(isOurs)) })}\n`,
      );
    });
  subscribe('callboard:turn', (mark) => {
    if (typeof mark === 'object' && mark !== null && 'step' in mark && 'of' in mark) take(mark.step, mark.of);
  });
  process.on('SIGUSR2', () => take('asked', ''));
}
