import { type StageView, visibleText } from '@callboard/contract';
import { Button, Tooltip } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useCommand } from '../../../data/use-command.tsx';
import { client } from '../../../lib/api-client.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import css from './stage-head.module.css';

/** Allows what Claude Code denied, exactly and for an hour, and has Claude try it again; or says why that cannot be. */
export function RetryDenial({ stage }: { stage: StageView }) {
  const canCommand = useCanCommand();
  const stageId = stage.id;
  const requestId = stage.session?.openDenial?.requestId ?? null;
  const { data } = useQuery({
    queryKey: ['denial-retry', stageId, requestId],
    queryFn: ({ signal }) =>
      requestId === null ? null : client.command('get_denial_retry', { stageId, requestId }, { signal }),
    enabled: requestId !== null,
  });
  const retry = useCommand({
    run: (denied: NonNullable<typeof requestId>) => client.command('retry_denial', { stageId, requestId: denied }),
    failed: `The denied call of ${stage.title} was not allowed`,
    stageId: () => stageId,
  });
  if (requestId === null || data == null) return null;
  const { rules, whyNot } = data.retry;
  if (whyNot !== null) return <p className={css.whyNot}>{visibleText(whyNot, 'prose')}</p>;
  return (
    <Tooltip label={`Allows ${visibleText(rules.join(', '), 'command')} in this stage for an hour`} multiline maw={360}>
      <Button disabled={!canCommand} loading={retry.isPending} onClick={() => retry.mutate(requestId)}>
        Allow and try again
      </Button>
    </Tooltip>
  );
}
