/**
 * Loaded into every Node below by `NODE_OPTIONS=--import`. In Callboard's two servers it listens to the marks and appends
 * them to files, one line each, when nothing has happened for a while. With `BENCH_PROFILES`, a folder, it leaves a CPU
 * profile of both there when they end. With `BENCH_DATABASE_PORT` it marks each round trip to PostgreSQL there.
 */
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { Socket } from 'node:net';
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
  const keep = (step: unknown, of: unknown) => {
    lines.push(`${JSON.stringify({ server, step, of, at: clock() })}\n`);
    timer.refresh();
  };
  subscribe('callboard:turn', (mark) => {
    if (typeof mark === 'object' && mark !== null && 'step' in mark && 'of' in mark) keep(mark.step, mark.of);
  });
  subscribe('http.server.request.start', () => keep('request received', ''));
  countRoundTrips(Number(process.env.BENCH_DATABASE_PORT), () => keep('database asked', ''));
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

/** The messages of PostgreSQL's protocol that ask for an answer: a simple query, and the end of an extended one. */
const ASKS = new Set(['Q', 'S'].map((letter) => letter.charCodeAt(0)));
const HEAD_BYTES = 5;

/** Calls the function for each question that this process sends to a server on the port. */
function countRoundTrips(port: number, count: () => void): void {
  subscribe('net.client.socket', (message) => {
    const socket = typeof message === 'object' && message !== null && 'socket' in message ? message.socket : null;
    if (!(socket instanceof Socket)) return;
    const write = socket.write.bind(socket);
    socket.write = (chunk: Uint8Array | string, ...rest: never[]) => {
      if (socket.remotePort === port && Buffer.isBuffer(chunk)) countIn(chunk, count);
      return write(chunk, ...rest);
    };
  });
}

/** A message is its letter, its length without the letter, and the rest. The first one of a connection has no letter. */
function countIn(chunk: Buffer, count: () => void): void {
  for (let at = 0; at + HEAD_BYTES <= chunk.length; ) {
    const letter = chunk[at] ?? 0;
    if (letter === 0) return;
    if (ASKS.has(letter)) count();
    at += 1 + chunk.readUInt32BE(at + 1);
  }
}
