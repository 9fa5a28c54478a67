import type { Isolation } from '@callboard/contract';
import { addNotice, type SessionChange } from './session-change.ts';

/** How many characters of a command are shown. */
const MAX_COMMAND_LENGTH = 200;

/** Stores the isolation of the newest launch. `command-left` stays for the life of the session. */
export function takeIsolation(change: SessionChange, isolation: Isolation): void {
  const { record } = change;
  if (record.isolation.reason !== 'command-left') change.record = { ...record, isolation };
}

/** Lowers the isolation: a command ran, or may run, where it can reach Callboard. Forged answers are now noticed, not prevented. */
export function loosenIsolation(
  change: SessionChange,
  reason: 'command-left' | 'settings-changed',
  detail: string,
): void {
  const { isolation } = change.record;
  if (isolation.reason === 'command-left' || isolation.reason === reason) return;
  change.record = { ...change.record, isolation: { level: 'noticed', reason, detail } };
}

/** Lowers the isolation after a command ran outside the sandbox, and says so once. @param asked the command, in one line */
export function commandLeft(change: SessionChange, now: string, asked: string): void {
  const wasPrevented = change.record.isolation.level === 'prevented';
  const named = asked.length > MAX_COMMAND_LENGTH ? `${asked.slice(0, MAX_COMMAND_LENGTH)} …` : asked;
  loosenIsolation(change, 'command-left', named);
  if (!wasPrevented) return;
  const text =
    'A command was allowed to leave the sandbox. What it started may reach Callboard, so from now on a forged answer in this session is noticed, not prevented.';
  addNotice(change, now, { level: 'warning', code: 'sandbox-left', text });
}
