import { z } from 'zod';

/** How far a usage limit of the account is used up. `near`: Claude Code warns. `reached`: it refuses to go on. */
export const LimitStatus = z.enum(['allowed', 'near', 'reached']);
export type LimitStatus = z.infer<typeof LimitStatus>;

/** A usage limit of the account, such as that of five hours or of a week. */
export const LimitWindow = z.object({
  /** Claude Code's name: `five_hour`, `seven_day`, `seven_day_opus`, for example. */
  name: z.string(),
  /** The used share of the limit, usually from 0 to 1; null if unknown. */
  utilization: z.number().nullable(),
  /** Null if Claude Code did not report it. A window that is `reached` alone does not mean that Claude Code refuses to go on. */
  status: LimitStatus.nullable(),
  /** When it begins anew; null if unknown. */
  resetsAt: z.iso.datetime().nullable(),
});
export type LimitWindow = z.infer<typeof LimitWindow>;

/** The usage limits of this machine's Claude account, as a session last reported them. */
export const UsageLimits = z.object({
  /** Whether Claude Code goes on. */
  status: LimitStatus,
  /** The name of the window that decides at the moment, and when it begins anew; null if unknown. */
  window: z.string().nullable(),
  resetsAt: z.iso.datetime().nullable(),
  /** The account pays for what goes beyond its limit. */
  isUsingOverage: z.boolean(),
  windows: z.array(LimitWindow),
  /** When they were reported. */
  at: z.iso.datetime(),
});
export type UsageLimits = z.infer<typeof UsageLimits>;

/** What Callboard does at a usage limit. */
export const LimitSettings = z.object({
  /** Stages that stopped at a limit go on by themselves when it resets, unless a stage says otherwise. */
  goesOnAtReset: z.boolean(),
  /** Automatic starts are held from this used share of a limit on; null: never because a limit is near. */
  holdStartsAt: z.number().min(0.1).max(1).nullable(),
});
export type LimitSettings = z.infer<typeof LimitSettings>;

export const LIMIT_DEFAULTS: LimitSettings = { goesOnAtReset: true, holdStartsAt: 0.9 };

/** Usage limits, and what Callboard does at one. */
export const LimitsView = z.object({
  /** Null if none is known, as with an API key. */
  limits: UsageLimits.nullable(),
  settings: LimitSettings,
});
export type LimitsView = z.infer<typeof LimitsView>;

export const NO_LIMITS: LimitsView = { limits: null, settings: LIMIT_DEFAULTS };

export const LimitSettingsPatch = z.strictObject(LimitSettings.shape).partial();

/** A stage whose last turn failed at a usage limit. */
export const LimitWait = z.object({
  since: z.iso.datetime(),
  /** The name of the window, and when it begins anew; null if unknown. */
  window: z.string().nullable(),
  resetsAt: z.iso.datetime().nullable(),
  /** When the stage goes on by itself, at the earliest; null: a person decides. */
  goesOnAt: z.iso.datetime().nullable(),
});
export type LimitWait = z.infer<typeof LimitWait>;

/** `now`: tries again at once. `at-reset`: goes on by itself when the limit resets. `never`: waits for a person. */
export const ResumeBody = z.strictObject({ when: z.enum(['now', 'at-reset', 'never']) });

/** What the limits mean at an instant. */
export interface LimitState {
  state: LimitStatus;
  /** The window that matters most; null while all is well, and if unknown. */
  window: string | null;
  utilization: number | null;
  /** When that ends; null if unknown. */
  resetsAt: string | null;
}

const ALLOWED: LimitState = { state: 'allowed', window: null, utilization: null, resetsAt: null };

/**
 * Returns what the limits mean now: those that have reset since count for nothing.
 * @param nearFrom from which used share on a limit is near
 */
export function limitState(limits: UsageLimits | null, nearFrom: number, now: string): LimitState {
  if (limits === null) return ALLOWED;
  const isAhead = ({ resetsAt }: Pick<LimitWindow, 'resetsAt'>) => resetsAt === null || resetsAt > now;
  if (limits.status === 'reached' && isAhead(limits)) {
    const { window, resetsAt } = limits;
    const utilization = limits.windows.find(({ name }) => name === window)?.utilization ?? null;
    return { state: 'reached', window, utilization, resetsAt };
  }
  const [fullest] = limits.windows
    .filter(isAhead)
    .filter(({ utilization, status }) => (utilization === null ? isNear(status) : utilization >= nearFrom))
    .toSorted((a, b) => (b.utilization ?? 1) - (a.utilization ?? 1));
  if (fullest === undefined) return ALLOWED;
  const { name, utilization, resetsAt } = fullest;
  return { state: 'near', window: name, utilization, resetsAt };
}

const isNear = (status: LimitStatus | null): boolean => status === 'near' || status === 'reached';
