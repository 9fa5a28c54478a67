import type { ClaudeProcess, PendingRequest } from '@callboard/contract';
import { Button, Group, Stack } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { crashDialog } from '../../data/dialogs.ts';
import { boardQuery } from '../../data/queries.ts';
import { client, errorText } from '../../lib/api-client.ts';
import { count, requestKey } from '../../lib/format.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Hint } from '../../ui/primitives.tsx';

/** An orchestrator, and the processes of Claude Code that it has. */
interface Running {
  instance: string;
  processes: readonly ClaudeProcess[];
}

/** What was there when the plug was pulled. */
interface Before extends Running {
  pending: readonly PendingRequest[];
}

type Crash =
  | { state: 'ready'; problem: string | null }
  /** `after`: what another orchestrator has; null until one answers. */
  | { state: 'gone'; sinceMs: number; before: Before; after: readonly ClaudeProcess[] | null }
  | { state: 'back'; tookMs: number; before: Before; after: readonly ClaudeProcess[] };

const POLL_MS = 100;
/** Somebody who runs Callboard without its supervisor would wait for ever. */
const PATIENCE_MS = 60_000;

/** Kills Callboard, and shows what of it is there again and after how long. */
export default function CrashDialog() {
  const opened = crashDialog.useIsOpen();
  return (
    <Dialog opened={opened} close={crashDialog.close} title="Pull the plug" size={480} closeOnClickOutside>
      {opened && <Content />}
    </Dialog>
  );
}

function Content() {
  const [crash, setCrash] = useState<Crash>({ state: 'ready', problem: null });
  const cache = useQueryClient();
  const off = !useCanCommand();

  async function pull(): Promise<void> {
    try {
      const running = await client.command('get_processes', {});
      const pending = cache.getQueryData(boardQuery.queryKey)?.pending ?? [];
      const sinceMs = performance.now();
      await client.command('crash', { instance: running.instance });
      setCrash({ state: 'gone', sinceMs, before: { ...running, pending }, after: null });
    } catch (error) {
      setCrash({ state: 'ready', problem: errorText(error) });
    }
  }

  useEffect(() => {
    if (crash.state !== 'gone' || crash.after !== null) return;
    const stopped = new AbortController();
    void nextProcesses(crash.before.instance, stopped.signal).then(
      (after) => setCrash({ ...crash, after }),
      (error: unknown) => {
        if (!stopped.signal.aborted) setCrash({ state: 'ready', problem: errorText(error) });
      },
    );
    return () => stopped.abort();
  }, [crash]);

  useEffect(() => {
    if (crash.state !== 'gone' || crash.after === null || off) return; // the page has not its events yet
    const { sinceMs, before, after } = crash;
    setCrash({ state: 'back', tookMs: performance.now() - sinceMs, before, after });
  }, [crash, off]);

  switch (crash.state) {
    case 'ready':
      return (
        <Stack gap="md">
          <p>
            Kills Callboard’s servers at once, as a crash would (SIGKILL). Claude goes on, and Callboard starts again by
            itself.
          </p>
          {crash.problem !== null && <p role="alert">{crash.problem}</p>}
          <Group justify="flex-end">
            <Button color="red" disabled={off} onClick={() => void pull()}>
              Kill Callboard
            </Button>
          </Group>
        </Stack>
      );
    case 'gone':
      return (
        <p role="status">
          Gone for <Seconds sinceMs={crash.sinceMs} />
        </p>
      );
    case 'back':
      return <Back {...crash} />;
    default:
      return crash satisfies never;
  }
}

/** Resolves with the processes of Claude Code once another orchestrator than this one answers. */
async function nextProcesses(before: string, signal: AbortSignal): Promise<readonly ClaudeProcess[]> {
  const end = performance.now() + PATIENCE_MS;
  while (performance.now() < end) {
    signal.throwIfAborted();
    const running = await client.command('get_processes', {}, { signal }).catch(() => null); // it is away
    if (running !== null && running.instance !== before) return running.processes;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error('Callboard has not come back. Look at its terminal.');
}

function Seconds({ sinceMs }: { sinceMs: number }) {
  const [ms, setMs] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setMs(performance.now() - sinceMs), POLL_MS);
    return () => clearInterval(timer);
  }, [sinceMs]);
  return <>{seconds(ms)}</>;
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

function Back({ tookMs, before, after }: Extract<Crash, { state: 'back' }>) {
  const { data: pending = [] } = useQuery({ ...boardQuery, select: (view) => view.pending });
  const has = (process: ClaudeProcess) =>
    after.some(({ pid, startedAt }) => pid === process.pid && startedAt === process.startedAt);
  const same = before.processes.filter(has);
  const ended = before.processes.length - same.length;
  const open = new Set(pending.map(requestKey));
  const stillOpen = before.pending.filter((request) => open.has(requestKey(request))).length;
  return (
    <Stack gap="md">
      <h3>Back after {seconds(tookMs)}</h3>
      <ul>
        {same.length > 0 && (
          <li>
            {count(same.length, 'Claude process', 'Claude processes')} survived ({same.map(({ pid }) => pid).join(', ')}
            )
          </li>
        )}
        {ended > 0 && <li>{count(ended, 'process has', 'processes have')} ended meanwhile</li>}
        {before.pending.length > 0 && (
          <li>
            {stillOpen === before.pending.length
              ? `${count(stillOpen, 'request')} still open. Your answer goes to the same process.`
              : `${stillOpen} of ${count(before.pending.length, 'request')} still open; the others were settled meanwhile`}
          </li>
        )}
      </ul>
      {before.processes.length === 0 && <Hint>Nothing was running. Try it while a stage waits for your answer.</Hint>}
      <Group justify="flex-end">
        <Button onClick={crashDialog.close}>Close</Button>
      </Group>
    </Stack>
  );
}
