import type { LeftOut } from '@callboard/contract';
import type { RepositorySettings } from '../worktrees/repository-settings.ts';
import type { RowCaches, TrustContent } from './content.ts';
import { harmlessSettings, placedRule, restrictions, summaryOf, unavailable } from './left-out.ts';
import { ALLOWED, type Found } from './settings-items.ts';

/** What a launch is given because of settings files, and what is withheld. */
export interface LaunchTrust {
  /** Set if the repository's own settings are left out; null if they are read as usual. */
  leftOut: LeftOut | null;
  /** Agreed rules that Claude Code does not take from the files itself. */
  allow: string[];
  directories: string[];
  /** Rules in files that are read, but that nobody has agreed to: Claude Code asks instead. */
  ask: string[];
  /** Deny rules of files that are left out. */
  deny: string[];
  /** Preferences of files that are left out. */
  preferences: Record<string, unknown>;
  /** Rules and folders allowed in a terminal that nobody has agreed to here. */
  newPersonal: Found[];
  /** Whether agreed hooks of the repository run. */
  hasHooks: boolean;
  /** Commands that the files that are read let run outside the sandbox. */
  excluded: string[];
  /** The items in settings files at the launch, as `<file> <kind>:<value>`, and the allow rules among them. */
  atLaunch: { items: string[]; rules: string[] };
}

interface Agreed {
  content: TrustContent;
  isTrusted: boolean;
  isPersonalAgreed: (item: RowCaches) => boolean;
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
    // Claude Code ignores the rules of a committed file unless the folder was trusted in a terminal, and sometimes reads
    // those of the main checkout too late for the first turn (both tried).
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

/** Returns ask rules, which win over allow rules for the same call (tried). @param worktree null if the rule is in the user's own settings */
function asking({ kind, value }: Found, worktree: string | null): string[] {
  if (kind === 'directory') return value.startsWith('/') ? [`Read(/${value}/**)`, `Edit(/${value}/**)`] : [];
  return [worktree === null ? value : placedRule(value, worktree)];
}
