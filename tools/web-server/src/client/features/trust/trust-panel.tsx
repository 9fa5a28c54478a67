import type { ProjectTrust, TrustItem, TrustKind } from '@callboard/contract';
import { Badge, Button, Stack, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useId } from 'react';
import type { TrustLocation } from '../../data/dialogs.ts';
import { trustQuery, useTrustLater } from '../../data/trust-query.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { FormEnd } from '../../ui/form-end.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Entry, Hint, Output } from '../../ui/primitives.tsx';
import { Seen } from '../../ui/text.tsx';

interface TrustPanelProps {
  place: TrustLocation;
  /** Closes the panel. If set, the panel has a second button for it. */
  done?: () => void;
}

/** Lists what a repository's settings would enable, with the button that agrees to it. */
export default function TrustPanel({ place, done }: TrustPanelProps) {
  const { data, error, refetch } = useQuery(trustQuery(place));
  const trust = useTrust(place, done);
  const canCommand = useCanCommand();
  const { later } = useTrustLater.getState();
  if (error !== null)
    return <ErrorNote lead="The settings could not be read." error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Text c="dimmed">Reading the settings…</Text>;
  const groups = trustGroups(data.trust);
  return (
    <Stack gap="lg">
      <Text c="dimmed">{leadOf(data.trust, place.stageId !== undefined)}</Text>
      {groups.map((group) => (
        <Group key={group.kind} group={group} marksNew={data.trust.items.some(({ isNew }) => !isNew)} />
      ))}
      {trust.isError && <ErrorNote error={trust.error} />}
      {data.trust.needed && (
        <FormEnd>
          {done !== undefined && (
            <Button
              variant="default"
              onClick={() => {
                if (place.stageId === undefined) later(place.projectId, data.trust.hash);
                done();
              }}
            >
              Not now
            </Button>
          )}
          <Button disabled={!canCommand} loading={trust.isPending} onClick={() => trust.mutate(data.trust.hash)}>
            Trust this repository
          </Button>
        </FormEnd>
      )}
    </Stack>
  );
}

function leadOf({ needed, items }: ProjectTrust, isStage: boolean): string {
  const where = isStage ? 'This stage’s worktree' : 'This repository';
  if (items.length === 0) return `${where} has no settings that need your trust.`;
  if (!needed) return `${where} is trusted as it is. If any of this changes, Callboard asks again.`;
  return items.some(({ isNew }) => !isNew)
    ? `${where} has settings that have changed since you trusted it. Until you trust them, sessions start without them.`
    : `${where} has settings that take effect when Claude starts in it. Until you trust them, sessions start without them.`;
}

function Group({ group, marksNew }: { group: TrustGroup; marksNew: boolean }) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h4 id={id}>{group.title}</h4>
      <ul>
        {group.items.map((item) => (
          <Item key={`${item.file} ${item.text} ${item.value}`} item={item} marksNew={marksNew} />
        ))}
      </ul>
    </section>
  );
}

function Item({ item: { text, value, file, isNew }, marksNew }: { item: TrustItem; marksNew: boolean }) {
  return (
    <Entry>
      {value !== '' && (
        <Output>
          <Seen text={value} kind="command" />
        </Output>
      )}
      <Hint component="div">
        {isNew && marksNew && (
          <Badge size="sm" variant="default" mr="xs">
            New
          </Badge>
        )}
        {text} {file !== '' && <code>{file}</code>}
      </Hint>
    </Entry>
  );
}

function useTrust({ projectId, stageId }: TrustLocation, done: (() => void) | undefined) {
  const cache = useQueryClient();
  const refresh = () => cache.invalidateQueries({ queryKey: trustQuery({ projectId, stageId }).queryKey });
  return useCommand({
    run: async (hash: string) => {
      try {
        return await client.command('trust_project', { projectId, hash });
      } finally {
        await refresh();
      }
    },
    done: () => done?.(),
  });
}

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
