import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { StageId } from '@callboard/contract';
import { systemCode } from '@callboard/runtime/errors';
import { untrustedText } from '../lib/foreign-words.ts';
import type { endCommand } from '../worktree-commands/end-command.ts';
import type { runWithInput } from '../worktree-commands/run-with-input.ts';
import type { Called, RunCommand } from './caller.ts';
import type { Call } from './requests.ts';

interface OutgoingCommandDeps {
  /** Starts a program with a text as its input. */
  start: (job: Parameters<typeof runWithInput>[1]) => ReturnType<typeof runWithInput>;
  endLeft: (id: string) => ReturnType<typeof endCommand>;
  /** The user's environment. */
  env: Readonly<Record<string, string>>;
  home: string;
}

/** Where the commands' files are, beside those of the stages. */
const PLACE = StageId.parse('outgoing');
/** What a program needs to find its files, its language and the person's desktop. Nothing else is passed on, above all no secret. */
const PASSED_ON =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|DBUS_SESSION_BUS_ADDRESS|XDG_[A-Z_]+)$/;
const MAX_REPORTED = 300;

/** Returns the environment of a command: what `PASSED_ON` names, and the event. */
function environmentOf(env: Readonly<Record<string, string>>, { event }: Call): Record<string, string> {
  const { signal, title, text, url, project, stage, request } = event.data;
  const reported: Record<string, string | null | undefined> = {
    CALLBOARD_EVENT_ID: event.id,
    CALLBOARD_EVENT: event.type,
    CALLBOARD_SIGNAL: signal,
    CALLBOARD_TITLE: title,
    CALLBOARD_TEXT: text,
    CALLBOARD_URL: url,
    CALLBOARD_PROJECT: project?.name,
    CALLBOARD_STAGE: stage?.id,
    CALLBOARD_STAGE_TITLE: stage?.title,
    CALLBOARD_REQUEST: request?.id,
    CALLBOARD_TOOL: request?.toolName,
  };
  const passed = Object.entries(env).filter(([name]) => PASSED_ON.test(name));
  return Object.fromEntries([
    ...passed,
    ...Object.entries(reported).map(([name, value]) => [name, (value ?? '').replaceAll('\0', '')] as const),
  ]);
}

/**
 * Runs the commands of calls: no shell, the person's home as the folder, the event in the environment and as the input. All processes of a
 * command have ended when its call has, at the latest after its time limit. What an attempt before a crash has left running is ended first.
 */
export const createOutgoingCommands =
  ({ start, endLeft, env, home }: OutgoingCommandDeps): RunCommand =>
  async ({ argv, timeLimitSeconds }, call, signal): Promise<Called> => {
    const [command = '', ...args] = argv;
    const id = `outgoing-${call.webhookId}-${call.event.id}`;
    try {
      await endLeft(id);
      if (signal.aborted) return { kind: 'refused', error: STOPPED };
      const running = await start({
        id,
        stageId: PLACE,
        command,
        args,
        cwd: home,
        env: environmentOf(env, call),
        isPersons: true,
        input: JSON.stringify(call.event),
        timeLimitMs: timeLimitSeconds * 1_000,
        onSpawned: async () => undefined,
      });
      const stop = () => running.end({ state: 'stopped', reason: STOPPED });
      signal.addEventListener('abort', stop);
      if (signal.aborted) stop(); // while it was being started
      const { state, reason, output } = await running.ended;
      signal.removeEventListener('abort', stop);
      if (state === 'passed') return { kind: 'taken', receipt: null };
      const said = untrustedText(output, -MAX_REPORTED);
      return {
        kind: 'refused',
        error: `${reason ?? 'The command failed.'}${said === '' ? '' : ` It printed: ${said}`}`,
      };
    } catch (error) {
      return {
        kind: 'refused',
        error: `The command could not be run: ${error instanceof Error ? error.message : error}`,
      };
    }
  };

/**
 * Ends what commands of an earlier run of Callboard have left running, whose time limit went with it, and removes their files. Each is known by
 * its files, which are written before it starts: those of another Callboard on this machine are left alone. What cannot be ended keeps its files
 * for the next start.
 *
 * @param commands the folder of the files of all commands
 * @throws a system error if the files cannot be read or removed
 */
export async function endOutgoingLeft({
  commands,
  endLeft,
}: { commands: string } & Pick<OutgoingCommandDeps, 'endLeft'>): Promise<void> {
  const folder = join(commands, PLACE);
  const names = await readdir(folder).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  });
  const ids = new Set(names.map((name) => name.split('.')[0] ?? '').filter((id) => id.startsWith('outgoing-')));
  const ended = await Promise.all([...ids].map(endLeft));
  if (ended.every(Boolean)) await rm(folder, { recursive: true, force: true });
}

const STOPPED = 'Callboard was stopped before the command had ended.';
