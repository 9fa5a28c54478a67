import type { LeftOut } from '@callboard/contract';
import type { RepositorySettings } from '../worktrees/repository-settings.ts';
import type { Known, TrustContent } from './content.ts';
import { harmlessSettings, placedRule, restrictions, summaryOf, unavailable } from './left-out.ts';
import { ALLOWED, type Found } from './settings-items.ts';

/** What a launch is given because of settings files, and kept from. */
export interface LaunchTrust {
  /** The repository's own settings are left out; null: they are read as ever. */
  leftOut: LeftOut | null;
  /** Rules that were agreed to and that Claude Code would not take from the files by itself. */
  allow: string[];
  directories: string[];
  /** Rules that stand in a file that is read, and that nobody has agreed to: they are asked for. */
  ask: string[];
  /** Rules of files that are left out, and that take away. */
  deny: string[];
  /** Preferences of files that are left out. */
  preferences: Record<string, unknown>;
  /** What nobody has agreed to of what was allowed in a terminal. */
  newPersonal: Found[];
  /** Whether hooks of the repository run that somebody agreed to. */
  hasHooks: boolean;
  /** Commands that the settings files that are read let run outside of the sandbox. */
  excluded: string[];
  /** What settings files switch on at this moment, as `<file> <kind>:<value>`, and the allow rules among it. */
  atLaunch: { items: string[]; rules: string[] };
}

interface Agreed {
  content: TrustContent;
  isTrusted: boolean;
  isPersonalAgreed: (item: Known) => boolean;
  newOfUser: Found[];
}

export async function launchTrust(
  { content, isTrusted, isPersonalAgreed, newOfUser }: Agreed,
  settings: RepositorySettings,
  worktree: string,
): Promise<Omit<LaunchTrust, 'atLaunch' | 'excluded'>> {
  const agreed = content.personal.filter(isPersonalAgreed);
  const newOfCheckout = content.personal.filter((item) => !isPersonalAgreed(item));
  const newPersonal = [...newOfCheckout, ...newOfUser];
  if (isTrusted) {
    // Claude Code ignores those of a committed file unless the folder was trusted in a terminal, and reads the main
    // checkout's own too late for the first turn at times (both tried).
    const rules = [...content.items.filter(({ text, kind }) => text === ALLOWED || kind === 'directory'), ...agreed];
    return {
      leftOut: null,
      ...allowed(rules, worktree),
      ask: [
        ...newOfCheckout.map((item) => asking(item, worktree)),
        ...newOfUser.map((item) => asking(item, null)),
      ].flat(),
      deny: [],
      preferences: {},
      newPersonal,
      hasHooks: content.items.some(({ kind }) => kind === 'hook'),
    };
  }
  const { deny, ask } = restrictions(settings, worktree);
  return {
    leftOut: { summary: summaryOf(content.items), unavailable: await unavailable(settings) },
    ...allowed(agreed, worktree),
    ask: [...ask, ...newOfUser.flatMap((item) => asking(item, null))],
    deny,
    preferences: harmlessSettings(settings),
    newPersonal,
    hasHooks: false,
  };
}

function allowed(items: readonly Found[], worktree: string): { allow: string[]; directories: string[] } {
  const of = (kind: Found['kind']) => items.filter((item) => item.kind === kind).map(({ value }) => value);
  return {
    allow: [...new Set(of('rule').map((rule) => placedRule(rule, worktree)))],
    directories: [...new Set(of('directory'))],
  };
}

/** A rule to ask goes before one that allows the same (tried). @param worktree null: the rule stands in the user's own settings */
function asking({ kind, value }: Found, worktree: string | null): string[] {
  if (kind === 'directory') return value.startsWith('/') ? [`Read(/${value}/**)`, `Edit(/${value}/**)`] : [];
  return [worktree === null ? value : placedRule(value, worktree)];
}
