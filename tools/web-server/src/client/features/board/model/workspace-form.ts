import {
  type DevServerSetting,
  Effort,
  mergedSettings,
  PermissionMode,
  type Project,
  WORKSPACE_KEYS,
  type WorkspaceKey,
  WorkspacePatch,
  type WorkspaceSettings,
} from '@callboard/contract';

/** What a project says about its worktrees, as typed. */
export interface WorkspaceForm {
  setup: string;
  /** In minutes; empty for the usual limit. */
  setupMinutes: string;
  cleanup: string;
  base: string;
  fetch: boolean;
  /** One server a line: `web: npm run dev`, or `web 8080: npm run dev`. */
  servers: string;
  /** One folder a line. */
  caches: string;
  model: string;
  effort: string;
  mode: string;
}

/** The keys of the form that `callboard.yaml` decides; the form shows what it says and cannot change it. */
export const fromFile = ({ file }: Pick<Project, 'file'>): ReadonlySet<WorkspaceKey> =>
  new Set(WORKSPACE_KEYS.filter((key) => file?.settings[key] !== undefined));

/** The settings in force. */
export const inForce = ({ settings, file }: Pick<Project, 'settings' | 'file'>): WorkspaceSettings =>
  mergedSettings(settings, file?.settings ?? {});

export function workspaceFormOf(project: Pick<Project, 'settings' | 'file'>): WorkspaceForm {
  const { setup, cleanup, base, fetch, devServers, caches, defaults } = inForce(project);
  return {
    setup: setup?.command ?? '',
    setupMinutes: setup?.timeLimit === undefined ? '' : String(setup.timeLimit / 60),
    cleanup: cleanup?.command ?? '',
    base: base ?? '',
    fetch,
    servers: Object.entries(devServers).map(serverLine).join('\n'),
    caches: caches.join('\n'),
    model: defaults.model ?? '',
    effort: defaults.effort ?? '',
    mode: defaults.mode ?? '',
  };
}

const serverLine = ([name, { command, port }]: [string, DevServerSetting]): string =>
  `${name}${port == null ? '' : ` ${port}`}: ${command}`;

const LINE = /^\s*([^\s:]+)(?:\s+(\d{1,5}))?\s*:\s*(\S.*)$/;

const lines = (text: string): string[] => text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));

/** What is wrong with each field, in words. */
export type WorkspaceErrors = Partial<Record<'setupMinutes' | 'servers' | 'caches' | 'base', string>>;

/** Returns the settings to send: those that the file decides stay as a person had them. */
export function readWorkspaceForm(
  form: WorkspaceForm,
  decided: ReadonlySet<WorkspaceKey>,
): { settings: WorkspacePatch } | { errors: WorkspaceErrors } {
  const wrong = lines(form.servers).find((line) => !LINE.test(line));
  if (wrong !== undefined)
    return { errors: { servers: `“${wrong}” is not a name, a colon and a command, such as web: npm run dev.` } };
  const minutes = Number(form.setupMinutes);
  if (form.setupMinutes.trim() !== '' && !(minutes > 0 && minutes <= 1_440))
    return { errors: { setupMinutes: 'Between 1 and 1440 minutes.' } };
  const timeLimit = form.setupMinutes.trim() === '' ? {} : { timeLimit: Math.max(1, Math.round(minutes * 60)) };
  const said = {
    setup: form.setup.trim() === '' ? null : { command: form.setup.trim(), ...timeLimit },
    cleanup: form.cleanup.trim() === '' ? null : { command: form.cleanup.trim() },
    base: form.base.trim() === '' ? null : form.base.trim(),
    fetch: form.fetch,
    devServers: Object.fromEntries(lines(form.servers).map(serverOf)),
    caches: lines(form.caches),
    defaults: {
      model: form.model.trim() === '' ? null : form.model.trim(),
      effort: Effort.safeParse(form.effort).data ?? null,
      mode: PermissionMode.safeParse(form.mode).data ?? null,
    },
  };
  // The mode is a person's, whatever the file says about the rest.
  const own = Object.entries(said).filter(([key]) => key === 'defaults' || !decided.has(key as WorkspaceKey));
  const parsed = WorkspacePatch.safeParse(Object.fromEntries(own));
  if (parsed.success) return { settings: parsed.data };
  const [issue] = parsed.error.issues;
  const key = issue?.path[0];
  const inner = issue?.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue?.message;
  const field = key === 'devServers' ? 'servers' : key === 'caches' ? 'caches' : 'base';
  return { errors: { [field]: `${String(issue?.path.at(-1) ?? '')} ${inner ?? ''}`.trim() } };
}

function serverOf(line: string): [string, DevServerSetting] {
  const [, name = '', port, command = ''] = LINE.exec(line) ?? [];
  return [name, { command, ...(port !== undefined && { port: Number(port) }) }];
}
