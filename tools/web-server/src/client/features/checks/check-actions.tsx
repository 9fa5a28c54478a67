import { checkAtGate, hasFailed, type StageView } from '@callboard/contract';
import { Button } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useAcceptAnyway, useRunCheck, useSendCheck } from '../../data/stage-commands.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';

/** What a person can do about a check that did not pass; nothing for any other stage. */
export function CheckActions({ stage }: { stage: StageView }) {
  const check = checkAtGate(stage);
  const run = useRunCheck(stage.title);
  const send = useSendCheck(stage.title);
  const accept = useAcceptAnyway(stage.title);
  const off = !useCanCommand() || run.isPending || send.isPending || accept.isPending;
  if (check === null || stage.completedAt !== null) return null;
  return (
    <>
      <Button
        variant="default"
        disabled={off}
        loading={accept.isPending}
        title="Goes on as if the check had passed"
        onClick={() => accept.mutate(stage.id)}
      >
        Accept anyway
      </Button>
      {hasFailed(check) && (
        <Button
          variant="default"
          disabled={off}
          loading={send.isPending}
          title="Claude gets the output, and the check runs after its turn"
          onClick={() => send.mutate(stage.id)}
        >
          Send to Claude once more
        </Button>
      )}
      <Button
        leftSection={<IconRefresh size={16} />}
        disabled={off}
        loading={run.isPending}
        onClick={() => run.mutate(stage.id)}
      >
        Run again
      </Button>
    </>
  );
}
