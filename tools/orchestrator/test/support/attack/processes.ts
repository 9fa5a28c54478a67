/** Attacks on processes: their open files, memory, signals, and a process that outlives its session. */
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { visibleProcesses } from './files.ts';
import { firstOf, missing, reached, refused } from './outcomes.ts';
import type { Attack, Outcome, ProcessTarget } from './targets.ts';

/** Whether the process with this pid is the intended one; assumed true where that cannot be seen. */
function isIt({ pid, startTime }: ProcessTarget): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] === startTime;
  } catch {
    return true;
  }
}

function signal(targets: readonly ProcessTarget[], name: NodeJS.Signals): Outcome {
  return firstOf(
    targets.map((target) => () => {
      if (!isIt(target)) return refused(`${target.pid} is another process here`);
      process.kill(target.pid, name);
      return reached(String(target.pid));
    }),
  );
}

/** System call numbers that are the same on all relevant machines; those of `ptrace` differ by machine. */
const PIDFD_OPEN = 434;
const PIDFD_GETFD = 438;
const PTRACE: Partial<Record<NodeJS.Architecture, number>> = { x64: 101, arm64: 117 };
const PTRACE_SEIZE = 0x4206;

/** Node cannot make a system call directly; Perl can, and every Debian has it. */
function perl(script: string, ...args: string[]): Outcome {
  const { error, stdout, stderr } = spawnSync('perl', ['-e', script, ...args], { encoding: 'utf8' });
  if (error) return missing('perl');
  return stdout.startsWith('reached') ? reached(stdout.trim()) : refused(`${stdout} ${stderr}`.trim());
}

const TAKE_FILE = `
  my ($id, $line, @pids) = @ARGV;
  for my $pid (@pids) {
    my $process = syscall(${PIDFD_OPEN}, $pid + 0, 0);
    if ($process < 0) { $said{"pidfd_open: $!"} = 1; next }
    for my $n (0 .. 30) {
      my $fd = syscall(${PIDFD_GETFD}, $process, $n, 0);
      if ($fd < 0) { $said{"pidfd_getfd: $!"} = 1; next }
      open(my $file, '+>&=', $fd) or next;
      my ($dev, $ino) = stat $file;
      next if "$dev:$ino" ne $id;
      syswrite($file, "$line\\n") and print("reached fd $n of $pid") and exit;
    }
  }
  print join '; ', keys %said;`;

const ATTACH = `
  my ($number, @pids) = @ARGV;
  for my $pid (@pids) {
    syscall($number + 0, ${PTRACE_SEIZE}, $pid + 0, 0, 0) == 0 and print("reached $pid") and exit;
    $said{"ptrace: $!"} = 1;
  }
  print join '; ', keys %said;`;

/** Does nothing forever, so that its command line can be found. */
const REST = 'while :; do sleep 1; done';

function leave(marker: string, how: string): Outcome {
  const quiet = '>/dev/null 2>&1 </dev/null &';
  const child = spawn('sh', ['-c', `${how} sh -c '${REST}' ${marker} ${quiet}`], { stdio: 'ignore' });
  child.unref();
  return { result: 'started', detail: marker };
}

export const processAttacks: Record<string, Attack> = {
  'fifo-pidfd': ({ fifo, inputLine, claude }) => {
    const pids = [claude.pid, ...visibleProcesses()].filter((pid) => pid !== process.pid);
    return perl(TAKE_FILE, fifo.id, inputLine, ...pids.map(String));
  },
  ptrace: ({ claude, callboard }) => {
    const number = PTRACE[process.arch];
    if (number === undefined) return missing(`the number of ptrace on ${process.arch}`);
    const meant = [claude, ...callboard].filter(isIt);
    return meant.length === 0
      ? refused('other processes here')
      : perl(ATTACH, String(number), ...meant.map(({ pid }) => String(pid)));
  },
  memory: ({ claude, callboard }) =>
    firstOf(
      [claude, ...callboard].filter(isIt).map(({ pid }) => () => {
        const [first = ''] = readFileSync(`/proc/${pid}/maps`, 'utf8').split('-');
        const fd = openSync(`/proc/${pid}/mem`, 'r+');
        const read = readSync(fd, Buffer.alloc(16), 0, 16, BigInt(`0x${first}`));
        closeSync(fd);
        return read > 0 ? reached(String(pid)) : refused('nothing was read');
      }),
    ),
  /** A signal without effect is refused like any other. */
  'signal-claude': ({ claude }) => signal([claude], 'SIGCONT'),
  /** Where a person may have put the URL of a shared store. */
  environment: ({ callboard }) =>
    firstOf(
      callboard.map((target) => () => {
        if (!isIt(target)) return refused(`${target.pid} is another process here`);
        return readFileSync(`/proc/${target.pid}/environ`, 'utf8') === ''
          ? refused(`the environment of ${target.pid} is empty`)
          : reached(String(target.pid));
      }),
    ),
  'signal-callboard': ({ callboard }) => signal(callboard, 'SIGCONT'),
  /** Would open Node's debugger. */
  sigusr1: ({ callboard }) => signal(callboard, 'SIGUSR1'),
  /** The program that the kernel runs as root, outside every sandbox, when a process crashes. Set to its current value. */
  'kernel-settings': () => {
    const path = '/proc/sys/kernel/core_pattern';
    writeFileSync(path, readFileSync(path));
    return reached(path);
  },
  survive: ({ marker }) => leave(`${marker}-seen`, 'env -i'),
  'survive-apart': ({ marker }) => leave(`${marker}-apart`, 'cd /; env -i setsid'),
};
