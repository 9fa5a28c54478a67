/**
 * Many emulated `claude` in one process, for hundreds of sessions on a small machine. The program that `startSwarm` writes
 * registers here, and is emulated on its own FIFO and spool, under its own pid.
 */
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { openConversation } from '../emulator/conversation.ts';
import { createEmulatedClaude } from '../emulator/emulated-claude.ts';
import { createLineCutter, readLine } from '../emulator/input.ts';
import { createPrinter } from '../emulator/printer.ts';

const CHECK_INTERVAL_MS = 1_000;
const [registry = ''] = process.argv.slice(2);
/** Functions that close the sessions, by pid. */
const sessions = new Map<number, () => void>();

function take(registration: string): void {
  const [pidText, cwd = '', home = '', sessionId = '', resumed, permissionMode = ''] = registration.split('\t');
  const pid = Number(pidText);
  const input = openSync(`/proc/${pid}/fd/0`, constants.O_RDONLY | constants.O_NONBLOCK);
  const output = openSync(`/proc/${pid}/fd/1`, constants.O_WRONLY | constants.O_APPEND);
  const socket = new Socket({ fd: input, readable: true, writable: false });
  const end = () => {
    if (isAlive(pid)) process.kill(pid, 'SIGTERM');
  };
  const printer = createPrinter((text) => void (sessions.has(pid) && writeSync(output, text)), sessionId);
  const conversation = openConversation(home, sessionId, cwd, resumed === 'resumed');
  if (conversation === null) {
    end();
    return;
  }
  sessions.set(pid, () => {
    sessions.delete(pid);
    socket.destroy();
    closeSync(output);
  });
  const claude = createEmulatedClaude({ conversation, printer, permissionMode, cwd, exit: end });
  socket.setEncoding('utf8').on(
    'data',
    createLineCutter((text) => claude(readLine(text))),
  );
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

setInterval(() => {
  for (const [pid, letGo] of sessions) if (!isAlive(pid)) letGo();
}, CHECK_INTERVAL_MS);
// Opened for writing as well, so that it does not end when the first program has registered.
const registrations = new Socket({ fd: openSync(registry, constants.O_RDWR | constants.O_NONBLOCK), writable: false });
registrations.setEncoding('utf8').on('data', createLineCutter(take));
process.stdin.resume().once('end', () => process.exit()); // ends with its parent
process.stdout.write('ready\n');
