/**
 * Loaded into every Node below by `NODE_OPTIONS=--import`. In Callboard's two servers and the supervisor it listens to the
 * marks and to the ends of children, and appends them to files, one line each, when nothing has happened for a while. With `BENCH_PROFILES`, a folder, it leaves a CPU
 * profile of both there when they end.
 */
import { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { basename, join } from 'node:path';
import { clock } from './clock.ts';

const path = process.argv[1] ?? '';
const server = path.endsWith('/tools/cli/dist/main.js')
  ? 'supervisor'
  : /tools\/(orchestrator|web-server)\/dist/.exec(path)?.[1];
const file = `${process.env.BENCH_MARKS}.${server}`;
const QUIET_MS = 100;

if (server !== undefined) {
  const lines: string[] = [];
  const flush = () => {
    if (lines.length > 0) appendFileSync(file, lines.splice(0).join(''));
  };
  const timer = setTimeout(flush, QUIET_MS).unref();
  const save = (step: unknown, of: unknown, cpuMs?: number) => {
    lines.push(`${JSON.stringify({ server, step, of, at: clock(), cpuMs })}\n`);
    timer.refresh();
  };
  subscribe('callboard:turn', (mark) => {
    if (typeof mark === 'object' && mark !== null && 'step' in mark && 'of' in mark) save(mark.step, mark.of);
  });
  subscribe('http.server.request.start', () => save('request received', ''));
  let endedMs = 0;
  subscribe('child_process', (message) => {
    if (!(typeof message === 'object' && message !== null && 'process' in message)) return;
    const { process: child } = message;
    if (!(child instanceof ChildProcess)) return;
    child.once('exit', () => {
      const before = endedMs;
      endedMs = endedChildrenMs();
      save('child ended', commandOf(child.spawnargs), endedMs - before);
    });
  });
  process.once('exit', flush);
  if (process.env.BENCH_PROFILES !== undefined && server !== 'supervisor')
    profileInto(join(process.env.BENCH_PROFILES, `${server}.cpuprofile`));
}

/** The CPU time of all children that have ended, which the kernel reports in hundredths of a second. */
function endedChildrenMs(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

/** The name of a program; for git, with its command. */
function commandOf([program = '', ...args]: readonly string[]): string {
  const name = basename(program);
  if (name !== 'git') return name;
  let at = 0;
  while (args[at]?.startsWith('-')) at += args[at] === '-c' || args[at] === '-C' ? 2 : 1;
  return `git ${args[at]}`;
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
