import { isActive, type StageView } from '@callboard/contract';
import { Button, Group, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { boardQuery } from '../../data/queries.ts';
import { useContinueInTerminal } from '../../data/session-commands.ts';
import { leaveText } from '../../lib/stage-status.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { CopyLine, ErrorNote } from '../../ui/notes.tsx';
import css from '../../ui/stage-head.module.css';

interface TerminalDialogProps {
  stage: StageView;
  close: () => void;
}

/** Leaves the stage's conversation to a terminal, and shows the command that continues it there. */
export default function TerminalDialog({ stage, close }: TerminalDialogProps) {
  const leave = useContinueInTerminal();
  return (
    <Dialog opened close={close} title="Continue in a terminal" size={560}>
      {leave.data === undefined ? (
        <Ask stage={stage} leave={leave} close={close} />
      ) : (
        <Stack gap="md">
          <p role="status">
            {leave.data.isCopied ? 'Copied. Run this' : 'Copy this and run it'} in a terminal on Callboard’s machine:
          </p>
          <CopyLine text={leave.data.command} label="command that resumes" />
          <Group justify="flex-end" mt="lg">
            <Button onClick={close}>Close</Button>
          </Group>
        </Stack>
      )}
    </Dialog>
  );
}

interface AskProps extends Pick<TerminalDialogProps, 'stage' | 'close'> {
  leave: ReturnType<typeof useContinueInTerminal>;
}

function Ask({ stage, leave, close }: AskProps) {
  const canCommand = useCanCommand();
  const { data: pending = 0 } = useQuery({
    ...boardQuery,
    select: (view) => view.pending.filter(({ stageId }) => stageId === stage.id).length,
  });
  const { text, verb } = leaveText(stage, pending);
  const endTurn = stage.session !== null && isActive(stage.session.state);
  return (
    <Stack gap="md">
      <p>{text} Callboard starts none for this conversation until you take the stage back; messages wait.</p>
      <p>In the terminal, Claude Code asks you there and follows your own settings, without Callboard’s sandbox.</p>
      {leave.error !== null && <ErrorNote lead="Not done." error={leave.error} stageId={stage.id} />}
      <Group justify="flex-end" gap="sm" mt="lg">
        <Button variant="default" onClick={close} data-autofocus>
          Cancel
        </Button>
        <Button
          disabled={!canCommand}
          loading={leave.isPending}
          onClick={() => leave.mutate({ stageId: stage.id, endTurn })}
        >
          {verb}
        </Button>
      </Group>
    </Stack>
  );
}
