import type { Project, ProjectPatch } from '@callboard/contract';
import { readSandboxForm, type SandboxForm, sandboxFormOf } from './sandbox-form.ts';

/** The values of the project settings form, as typed. */
export interface ProjectForm {
  name: string;
  /** How long a request may wait; empty for no limit. */
  minutes: string;
  /** One pattern per line. */
  copy: string;
  submodules: boolean;
  /** The command that opens a worktree; empty for the first editor on PATH. */
  editor: string;
  /** Whether messages from other sessions reach this project's. */
  sessionMessages: boolean;
  /** The machine that its stages must run on, by name or id; empty for any. */
  machine: string;
  /** After how many minutes a silent machine is declared lost; empty for never. */
  lostAfter: string;
  sandbox: SandboxForm;
}

const MINUTE = 60_000;

export const projectFormOf = ({ name, settings }: Project): ProjectForm => ({
  name,
  minutes: settings.requestTimeoutMs === null ? '' : String(settings.requestTimeoutMs / MINUTE),
  copy: settings.copyIgnored.join('\n'),
  submodules: settings.submodules,
  editor: settings.editor ?? '',
  sessionMessages: settings.sessionMessages,
  machine: settings.machine ?? '',
  lostAfter: settings.declareLostAfterMs === null ? '' : String(settings.declareLostAfterMs / MINUTE),
  sandbox: sandboxFormOf(settings),
});

export function readProjectForm({
  name,
  minutes,
  copy,
  submodules,
  editor,
  sessionMessages,
  machine,
  lostAfter,
  sandbox,
}: ProjectForm): ProjectPatch {
  const lines = copy.split('\n').map((line) => line.trim());
  return {
    name: name.trim(),
    settings: {
      requestTimeoutMs: readMinutes(minutes),
      copyIgnored: lines.filter((line) => line !== ''),
      submodules,
      editor: editor.trim() === '' ? null : editor.trim(),
      sessionMessages,
      machine: machine === '' ? null : machine,
      declareLostAfterMs: readMinutes(lostAfter),
      ...readSandboxForm(sandbox),
    },
  };
}

/** @param minutes as typed @returns milliseconds; null for nothing, and for what is no time */
const readMinutes = (minutes: string): number | null =>
  minutes.trim() === '' || !(Number(minutes) > 0) ? null : Math.round(Number(minutes) * MINUTE);
