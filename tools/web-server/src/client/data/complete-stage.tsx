import { type CommandInput, type MergeMethod, MessageId, type StageView } from '@callboard/contract';
import { Button, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { client } from '../lib/api-client.ts';
import { mergedText } from '../lib/finish-text.ts';
import { boardQuery, stageOf } from './queries.ts';
import { sendMessage, useUndoCompletion } from './stage-commands.ts';
import { useCommand } from './use-command.tsx';

/** What completing the stage would merge, read again after each turn and each completion: no event reports a change of a file. */
export const completionQuery = ({ id, updatedAt, session }: StageView, method: MergeMethod = 'merge') =>
  queryOptions({
    queryKey: ['completion', id, method, updatedAt, session?.state, session?.lastTurn?.at],
    queryFn: async ({ signal }) =>
      (await client.command('get_completion', { stageId: id, method }, { signal })).completion,
    placeholderData: keepPreviousData,
    staleTime: 0,
  });

type Order = Omit<CommandInput<'complete_stage'>, 'stageId'>;

/** Completes a stage, and says for ten seconds what became of its work. The caller shows refusals. */
export const useFinishStage = (stage: StageView, done: () => void) =>
  useCommand({
    run: (order: Order) => client.command('complete_stage', { stageId: stage.id, ...order }),
    done: (reply) => {
      showFinished(reply.stage);
      done();
    },
  });

/** Takes the placeholders of the sandbox out of the stage's branch. The caller shows refusals. */
export const useTakeOutPlaceholders = (stage: StageView, done: () => void) =>
  useCommand({ run: () => client.command('take_out_placeholders', { stageId: stage.id }), done });

/** Sends Claude a message about its work; a done stage is reopened by it. */
export const useAskClaude = (stage: StageView, done: () => void) =>
  useCommand({
    run: (message: string) =>
      sendMessage(stage.id, { message, messageId: MessageId.parse(crypto.randomUUID()), mode: 'append' }),
    failed: `Claude was not asked`,
    done,
  });

const SHOWN_MS = 10_000;
const idOf = (stage: StageView): string => `finished:${stage.id}`;

/** Says for ten seconds what became of a stage's work, with a way back; no longer than that is true. */
function showFinished(stage: StageView): void {
  const { tone } = mergedText(stage);
  notifications.show({
    id: idOf(stage),
    title: `${stage.title} is done`,
    message: <FinishedNotice stage={stage} />,
    color: tone === 'merged' ? 'green' : 'gray',
    autoClose: SHOWN_MS,
  });
}

function FinishedNotice({ stage }: { stage: StageView }) {
  const undo = useUndoCompletion(stage.title);
  const { text, tone } = mergedText(stage);
  const hide = () => notifications.hide(idOf(stage));
  const { data: isDone } = useQuery({
    ...boardQuery,
    select: (view) => stageOf(stage.id)(view)?.completedAt === stage.completedAt,
  });
  const [wasDone, setWasDone] = useState(false);
  if (isDone === true && !wasDone) setWasDone(true);
  const isOver = wasDone && isDone === false;
  useEffect(() => {
    if (isOver) notifications.hide(idOf(stage));
  }, [isOver, stage]);
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text span size="row" data-tone={tone}>
        {text}
      </Text>
      <Button
        size="compact-sm"
        variant="default"
        loading={undo.isPending}
        onClick={() => undo.mutate(stage.id, { onSettled: hide })}
      >
        Undo
      </Button>
    </Group>
  );
}
