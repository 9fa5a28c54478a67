/**
 * Loaded into every Node below by `NODE_OPTIONS=--import`. In Callboard's two servers it listens to the marks and appends
 * them to files, one line each, when nothing has happened for a while. With `BENCH_PROFILES`, a folder, it leaves a CPU
 * profile of both there when they end.
 */
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';
import { clock } from './clock.ts';

const server = /tools\/(orchestrator|web-server)\/dist/.exec(process.argv[1] ?? '')?.[1];
const file = `${process.env.BENCH_MARKS}.${server}`;
const QUIET_MS = 100;

if (server !== undefined) {
  const lines: string[] = [];
  const flush = () => {
    if (lines.length > 0) appendFileSync(file, lines.splice(0).join(''));
  };
  const timer = setTimeout(flush, QUIET_MS).unref();
  const save = (step: unknown, of: unknown) => {
    lines.push(`${JSON.stringify({ server, step, of, at: clock() })}\n`);
    timer.refresh();
  };
  subscribe('callboard:turn', (mark) => {
    if (typeof mark === 'object' && mark !== null && 'step' in mark && 'of' in mark) save(mark.step, mark.of);
  });
  subscribe('http.server.request.start', () => save('request received', ''));
  process.once('exit', flush);
  if (process.env.BENCH_PROFILES !== undefined) profileInto(join(process.env.BENCH_PROFILES, `${server}.cpuprofile`));
}

function profileInto(path: string): void {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.start');
  process.once('exit', () =>
    session.post('Profiler.stop', (error, stopped) => {
      if (error === null) writeFileSync(path, JSON.stringify(stopped.profile));
    }),
  );
}
