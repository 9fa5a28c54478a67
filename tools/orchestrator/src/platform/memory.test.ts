import { freemem } from 'node:os';
import { expect, it } from 'vitest';
import { availableMemory, residentMemory } from './runtime.ts';

const MIB = 1_048_576;
const reader = (files: Record<string, string>) => (path: string) => files[path] ?? null;
const MEMINFO = 'MemTotal:  8192 kB\nMemFree:  100 kB\nMemAvailable:  4096 kB\n';

it('is what the machine has available, without a control group', () => {
  expect(availableMemory(reader({ '/proc/meminfo': MEMINFO }))).toBe(4 * MIB);
});

it('is the room in a group with a limit, where pages of files count as room', () => {
  const files = {
    '/proc/meminfo': MEMINFO,
    '/proc/self/cgroup': '0::/system.slice/callboard.service\n',
    '/sys/fs/cgroup/system.slice/callboard.service/memory.max': 'max\n',
    '/sys/fs/cgroup/system.slice/callboard.service/memory.current': `${MIB}\n`,
    '/sys/fs/cgroup/system.slice/memory.max': `${3 * MIB}\n`,
    '/sys/fs/cgroup/system.slice/memory.current': `${2 * MIB}\n`,
    '/sys/fs/cgroup/system.slice/memory.stat': `anon 5\ninactive_file ${MIB}\n`,
  };
  expect(availableMemory(reader(files))).toBe(2 * MIB);
});

it('knows groups of the first version, and a limit above what the machine has', () => {
  const files = {
    '/proc/meminfo': MEMINFO,
    '/proc/self/cgroup': '4:cpu,memory:/docker/1\n0::/\n',
    '/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes': '9223372036854771712\n',
    '/sys/fs/cgroup/memory/docker/1/memory.usage_in_bytes': '100\n',
    '/sys/fs/cgroup/memory/memory.limit_in_bytes': `${MIB}\n`,
    '/sys/fs/cgroup/memory/memory.usage_in_bytes': `${2 * MIB}\n`,
  };
  expect(availableMemory(reader(files))).toBe(0);
});

it('is the free memory where there is no /proc', () => {
  const free = availableMemory(reader({}));
  expect(Math.abs(free - freemem())).toBeLessThan(1_000 * MIB);
});

it('reads what a process holds', () => {
  expect(residentMemory(process.pid)).toBeGreaterThan(10 * MIB);
  expect(residentMemory(7, reader({ '/proc/7/status': 'Name:\tclaude\nVmRSS:\t  2048 kB\n' }))).toBe(2 * MIB);
  expect(residentMemory(7, reader({}))).toBeNull();
});
