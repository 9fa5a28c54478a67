import { isActive, type StageView } from '@callboard/contract';
import { Button, Group, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { terminalDialog } from '../../data/dialogs.ts';
import { boardQuery, stageOf } from '../../data/queries.ts';
import { useContinueInTerminal } from '../../data/session-commands.ts';
import { leaveText } from '../../lib/stage-status.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { CopyLine, ErrorNote } from '../../ui/notes.tsx';

/** Leaves the stage's conversation to a terminal, and shows the command that continues it there. */
export default function TerminalDialog() {
  const stageId = terminalDialog.useSubject();
  const { data: stage } = useQuery({
    ...boardQuery,
    select: (view) => (stageId === null ? undefined : stageOf(stageId)(view)),
  });
  return stage === undefined ? null : <OpenDialog key={stage.id} stage={stage} />;
}

const { close } = terminalDialog;

function OpenDialog({ stage }: { stage: StageView }) {
  const leave = useContinueInTerminal();
  return (
    <Dialog opened close={close} title="Continue in a terminal" size={560}>
      {leave.data === undefined ? (
        <Ask stage={stage} leave={leave} />
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

interface AskProps {
  stage: StageView;
  leave: ReturnType<typeof useContinueInTerminal>;
}

function Ask({ stage, leave }: AskProps) {
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
