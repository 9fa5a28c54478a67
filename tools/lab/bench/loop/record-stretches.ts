/**
 * Loaded into every Node below by `NODE_OPTIONS=--import`. In Callboard's two servers, and in the idle Node that the bench starts
 * beside them, it records how long the event loop was blocked. SIGUSR2 writes everything recorded since the last one to
 * `BENCH_STRETCHES.<name>.<number>`, as JSON. With `BENCH_PROFILES`, a folder, a CPU profile of the same time goes there.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';
import { clock } from '../turn/clock.ts';

const name = /tools\/(orchestrator|web-server)\/dist\/(?:server\/)?main|(idle)-node/
  .exec(process.argv[1] ?? '')
  ?.slice(1)
  .find(Boolean);
const TICK_MS = 1;
/** Shorter stretches do not matter. */
const LONG_MS = 2;

/** How long the main thread was ready to run but had no CPU until now, in ms; 0 if the system does not report it. */
function waitedMs(): number {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

if (name !== undefined) {
  let number = 0;
  let stretches: { at: number; wallMs: number; heldMs: number }[] = [];
  let [last, waited] = [clock(), waitedMs()];
  const session = new Session();
  session.connect();
  const { BENCH_PROFILES: profiles } = process.env;
  const profile = (step: 'start' | 'stop') => {
    if (profiles === undefined) return;
    if (step === 'start') {
      session.post('Profiler.enable');
      session.post('Profiler.start');
    } else {
      session.post('Profiler.stop', (error, stopped) => {
        if (error === null)
          writeFileSync(join(profiles, `${name}.${number}.cpuprofile`), JSON.stringify(stopped.profile));
      });
    }
  };
  setInterval(() => {
    const wallMs = clock() - last - TICK_MS;
    if (wallMs >= LONG_MS) {
      const now = waitedMs();
      stretches.push({ at: last, wallMs, heldMs: wallMs - (now - waited) });
      waited = now;
    }
    last = clock();
  }, TICK_MS).unref();
  profile('start');
  process.on('SIGUSR2', () => {
    number++;
    profile('stop');
    const file = `${process.env.BENCH_STRETCHES}.${name}.${number}`;
    writeFileSync(`${file}.part`, JSON.stringify(stretches));
    renameSync(`${file}.part`, file);
    stretches = [];
    profile('start');
    [last, waited] = [clock(), waitedMs()];
  });
}
