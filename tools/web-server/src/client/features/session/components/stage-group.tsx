import type { StageView } from '@callboard/contract';
import { Autocomplete } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { boardQuery } from '../../../data/queries.ts';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';
import { isComposing } from '../../../lib/is-composing.ts';
import { ownGroups } from '../../../lib/own-groups.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';

/** The group that a stage belongs to. What is typed is sent on Enter, on leaving the field, or with the choice of a known group. */
export function StageGroup({ stage }: { stage: StageView }) {
  const { data: groups = [] } = useQuery({ ...boardQuery, select: ownGroups });
  const stored = stage.group ?? '';
  const [typed, setTyped] = useState<string | null>(null);
  const canCommand = useCanCommand();
  const move = useCommand({
    run: (group: string) => client.command('update_stage', { stageId: stage.id, patch: { group: group || null } }),
    failed: `The group of ${stage.title} was not changed`,
  });
  const send = (text: string) => {
    const group = text.trim();
    if (group === stored || move.isPending) setTyped(null);
    else move.mutate(group, { onSettled: () => setTyped(null) });
  };
  return (
    <Autocomplete
      aria-label="Group"
      placeholder="No group"
      size="xs"
      maw={260}
      maxLength={60}
      data={groups}
      value={typed ?? stored}
      disabled={!canCommand || move.isPending}
      onChange={setTyped}
      onOptionSubmit={send}
      onBlur={() => typed !== null && send(typed)}
      onKeyDown={(event) => {
        const isEnter = event.key === 'Enter' && !isComposing(event.nativeEvent);
        if (isEnter && typed !== null && !event.defaultPrevented) send(typed);
        if (event.key === 'Escape') setTyped(null);
      }}
    />
  );
}
