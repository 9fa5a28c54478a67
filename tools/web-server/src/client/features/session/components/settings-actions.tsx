import type { StageId, TrustItem } from '@callboard/contract';
import { Button, Group } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { boardQuery } from '../../../data/queries.ts';
import { type TrustLocation, trustQuery, useTrustDialog } from '../../../data/trust-query.ts';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';

/** The actions for a notice about settings. */
export function SettingsActions({ entry }: { entry: { stageId: StageId; code: string; text: string } }) {
  const { stageId, code, text } = entry;
  const { data: projectId } = useQuery({
    ...boardQuery,
    select: (view) => view.stages.find(({ id }) => id === stageId)?.projectId,
  });
  const open = useTrustDialog((state) => state.open);
  if (projectId === undefined) return null;
  return (
    <Group gap={8} mt={8}>
      {code !== 'settings-left-out' && <ThatWasMe place={{ projectId, stageId }} text={text} />}
      <Button variant="default" size="compact-sm" onClick={() => open({ projectId, stageId })}>
        Review the settings
      </Button>
    </Group>
  );
}

/** Agrees to the rules the notice names, as long as they are in the person's own files. */
function ThatWasMe({ place, text }: { place: TrustLocation; text: string }) {
  const cache = useQueryClient();
  const canCommand = useCanCommand();
  const { data } = useQuery(trustQuery(place));
  const rules = (data?.trust.items ?? []).filter((item) => isOwn(item) && text.includes(item.value));
  const agree = useCommand({
    run: () => client.command('agree_rules', { projectId: place.projectId, rules: rules.map(({ value }) => value) }),
    failed: 'The rules were not confirmed',
    done: () => cache.invalidateQueries({ queryKey: trustQuery(place).queryKey }),
  });
  if (rules.length === 0) return null;
  return (
    <Button size="compact-sm" disabled={!canCommand} loading={agree.isPending} onClick={() => agree.mutate()}>
      That was me
    </Button>
  );
}

const isOwn = ({ kind, file, isNew }: TrustItem) =>
  isNew && (kind === 'rule' || kind === 'directory') && (file.startsWith('~/') || file.endsWith('(main checkout)'));
