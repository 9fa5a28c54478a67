import { type BoardView, boardView, type Decision, type LostTrace } from '@callboard/contract';
import { TransportError } from '@callboard/contract/client';
import { Button, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useId } from 'react';
import { Link } from 'react-router';
import { boardQuery, stageOf } from '../../data/queries.ts';
import { client } from '../../lib/api-client.ts';
import { requestKey } from '../../lib/format.ts';
import { untilDelivered } from '../../lib/until-delivered.ts';
import { useCanAnswer } from '../../stream/stream-context.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Panel, Strip } from '../../ui/primitives.tsx';
import { TimeSince } from '../../ui/text.tsx';
import { decisionText } from '../approvals/kinds/decision-text.ts';

interface UnsettledAnswersProps {
  decisions: readonly Decision[];
  /** Uses the full width of a stage's own page, without naming the stage. */
  isWide?: boolean;
}

/** Answers whose fate is unknown, each with its actions. */
export function UnsettledAnswers({ decisions, isWide = false }: UnsettledAnswersProps) {
  if (decisions.length === 0) return null;
  return (
    <Strip
      component="section"
      mah={isWide ? '45%' : undefined}
      bg={isWide ? undefined : 'none'}
      bd={isWide ? undefined : 0}
      px={isWide ? undefined : 0}
      aria-label="Unconfirmed answers"
    >
      {decisions.map((decision) => (
        <UnsettledAnswer key={requestKey(decision)} decision={decision} namesStage={!isWide} />
      ))}
    </Strip>
  );
}

interface UnsettledAnswerProps {
  decision: Decision;
  namesStage: boolean;
}

/** An answer whose process or turn ended before it was confirmed: the known facts, Retry and Dismiss. */
function UnsettledAnswer({ decision, namesStage }: UnsettledAnswerProps) {
  const { data: title } = useQuery({ ...boardQuery, select: (view) => stageOf(decision.stageId)(view)?.title });
  return (
    <Panel
      component="article"
      flex="none"
      gap="xs"
      w="100%"
      maw={880}
      mx="auto"
      bd="1px solid var(--needs-line)"
      bg="var(--needs-soft)"
    >
      <h2 data-tone="needs">It is not known whether this answer took effect</h2>
      {namesStage && <Link to={`/stages/${decision.stageId}`}>{title ?? decision.stageId}</Link>}
      <p>
        {decisionText(decision)}: <code className="pre-wrap">{decision.asked}</code>
      </p>
      {Object.entries(decision.answers ?? {}).map(([question, answer]) => (
        <p key={question}>
          {question} <strong>{answer}</strong>
        </p>
      ))}
      <Text size="row">
        <LostNote lost={decision.lost} />
      </Text>
      <SettleActions decision={decision} />
    </Panel>
  );
}

/** The known facts about an unconfirmed answer: when it was handed over, and when and why its process or turn ended. */
export function LostNote({ lost }: { lost: LostTrace | null }) {
  if (lost === null) return 'The process ended before it confirmed the answer.';
  const { ended, writtenAt, endedAt, endReason } = lost;
  return (
    <>
      {writtenAt === null ? (
        'It may have been handed to Claude'
      ) : (
        <>
          Handed to Claude <TimeSince at={writtenAt} ago />
        </>
      )}
      ; {ended === 'turn' ? 'its turn' : 'the process'} ended <TimeSince at={endedAt} ago />, before it was confirmed.{' '}
      {endReason}
    </>
  );
}

/** Retry and Dismiss, each with an explanation. */
export function SettleActions({ decision }: { decision: Decision }) {
  const settle = useSettle(decision);
  const explained = useId();
  const sent = settle.isPending || settle.isSuccess;
  const off = !useCanAnswer() || sent;
  const button = (way: Way, label: string) => (
    <Button
      size="compact-md"
      variant={way === 'retry' ? 'filled' : 'default'}
      aria-describedby={explained}
      disabled={off}
      loading={sent && settle.variables === way}
      onClick={() => settle.mutate(way)}
    >
      {label}
    </Button>
  );
  return (
    <>
      <Text size="row" id={explained}>
        Retry tells Claude in a message what was decided, and to check before doing it again; a tool then asks again.
        Dismiss sends nothing and takes this note away.
      </Text>
      {settle.isError && <ErrorNote error={settle.error} />}
      <Group justify="flex-end" mt="xs">
        {button('dismiss', 'Dismiss')}
        {button('retry', 'Retry')}
      </Group>
    </>
  );
}

export type Way = 'dismiss' | 'retry';
const WAYS = {
  dismiss: { command: 'dismiss_decision', how: 'dismissed' },
  retry: { command: 'retry_decision', how: 'retried' },
} as const;

/** Settles an answer whose fate is unknown. It leaves the board once the server confirms that it is settled. */
function useSettle(decision: Decision) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (way: Way) => untilDelivered((attempt, signal) => settle(decision, way, attempt, signal)),
    onSuccess: () => removeUnsettled(cache, decision),
    onError(error) {
      if (!isConflict(error)) return;
      notifications.show({ title: 'This answer is settled', message: error.message, color: 'gray', autoClose: 15_000 });
      removeUnsettled(cache, decision);
    },
  });
}

/** Retrying is safe, as the server settles nothing twice. If our own earlier attempt had arrived after all, that is no conflict. */
async function settle({ stageId, requestId }: Decision, way: Way, attempt: number, signal: AbortSignal): Promise<void> {
  const { command, how } = WAYS[way];
  try {
    await client.command(command, { stageId, requestId }, { signal });
  } catch (error) {
    const isOurs = isConflict(error) && error.decision?.settlement?.how === how;
    if (attempt === 1 || !isOurs) throw error;
  }
}

const isConflict = (error: unknown): error is TransportError =>
  error instanceof TransportError && (error.code === 'already_settled' || error.code === 'nothing_to_settle');

function removeUnsettled(cache: QueryClient, decision: Decision): void {
  const key = requestKey(decision);
  cache.setQueryData(boardQuery.queryKey, (view: BoardView | undefined) =>
    view === undefined
      ? view
      : boardView({ ...view, unsettled: view.unsettled.filter((other) => requestKey(other) !== key) }),
  );
}
