import type { ProjectTrust, TrustItem, TrustKind } from '@callboard/contract';

const TITLES: Readonly<Record<TrustKind, string>> = {
  hook: 'Hooks',
  helper: 'Helpers',
  env: 'Environment',
  'mcp-server': 'MCP servers',
  plugin: 'Plugins',
  rule: 'Rules',
  mode: 'Modes',
  directory: 'Folders',
  command: 'Commands that Callboard runs in worktrees',
  other: 'Other settings',
};

export interface TrustGroup {
  kind: TrustKind;
  title: string;
  items: TrustItem[];
}

/** Groups the items by kind. Within a group, items that nobody has agreed to come first. */
export function trustGroups({ items }: Pick<ProjectTrust, 'items'>): TrustGroup[] {
  const kinds = Object.keys(TITLES) as TrustKind[];
  return kinds
    .map((kind) => ({ kind, title: TITLES[kind], items: items.filter((item) => item.kind === kind) }))
    .filter((group) => group.items.length > 0)
    .map((group) => ({ ...group, items: group.items.toSorted((a, b) => Number(b.isNew) - Number(a.isNew)) }));
}
