import type { BoardView } from '@callboard/contract';
import { Box, Button, CloseButton, Group, Text } from '@mantine/core';
import { IconCircle, IconCircleCheckFilled } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import { useBoardUi } from '../../data/board-ui.ts';
import { crashDialog, finishBar } from '../../data/dialogs.ts';
import { boardQuery } from '../../data/queries.ts';
import { closeTour, openTour, TourStep, useTour } from '../../data/tour.ts';
import { CopyLine } from '../../ui/notes.tsx';

const LABELS: Readonly<Record<TourStep, string>> = {
  answer: 'Answer Claude',
  plug: 'Pull the plug',
  changes: 'Read a change',
  finish: 'Finish a stage',
  start: 'Start your own',
};

/** Five things to try, above the board. Each leads to where it is done, and is ticked once it was done. */
export function Tour() {
  const { isOpen, done } = useTour();
  const [params, setParams] = useSearchParams();
  const isAsked = params.has('tour');
  useEffect(() => {
    if (!isAsked) return;
    openTour();
    setParams((old) => new URLSearchParams([...old].filter(([name]) => name !== 'tour')), { replace: true });
  }, [isAsked, setParams]);
  const lead = useLead();
  if (!isOpen) return null;
  const isDone = TourStep.options.every((step) => done.includes(step));
  return (
    <Box component="section" aria-label="Tour" px="lg" pb="sm">
      <Group gap="xs" wrap="nowrap" style={{ overflowX: 'auto' }}>
        <Text span fw={600} flex="none">
          {isDone ? 'Now your own repository:' : 'Try it'}
        </Text>
        {isDone ? (
          <CopyLine text="npm start -- --repo <a git repository>" />
        ) : (
          TourStep.options.map((step) => (
            <Button
              key={step}
              variant="subtle"
              flex="none"
              color="gray"
              size="compact-md"
              leftSection={
                done.includes(step) ? (
                  <IconCircleCheckFilled size={16} data-tone="done" role="img" aria-label="Done" />
                ) : (
                  <IconCircle size={16} aria-hidden />
                )
              }
              onClick={() => lead(step)}
            >
              {LABELS[step]}
            </Button>
          ))
        )}
        <CloseButton ml="auto" aria-label="Close the tour" onClick={closeTour} />
      </Group>
    </Box>
  );
}

/** Returns what goes to where a step is done. */
function useLead(): (step: TourStep) => void {
  const navigate = useNavigate();
  const { data: reviewed } = useQuery({ ...boardQuery, select: inReview });
  return (step) => {
    switch (step) {
      case 'answer':
        return void navigate('/inbox');
      case 'plug':
        return crashDialog.open();
      case 'changes':
      case 'finish':
        if (reviewed === undefined) return;
        void navigate(`/stages/${reviewed}?tab=changes`);
        if (step === 'finish') finishBar.open(reviewed);
        return;
      case 'start':
        return useBoardUi.getState().open({ kind: 'new-stage', projectId: null });
      default:
        return step satisfies never;
    }
  };
}

/** The first stage with changes to review. */
const inReview = ({ stages }: BoardView) =>
  stages.find(({ column, session }) => column === 'review' && (session?.changes?.files ?? 0) > 0)?.id;
