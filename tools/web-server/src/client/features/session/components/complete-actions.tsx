import type { StageDiff, StageView } from '@callboard/contract';
import { Button, Menu } from '@mantine/core';
import { IconChevronDown } from '@tabler/icons-react';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { useCompleteStage, useMergeStage } from '../../../data/stage-commands.ts';
import { errorText } from '../../../lib/api-client.ts';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { FailureNote } from '../../../ui/note.tsx';
import { isOutdated, useReloadDiff } from '../api/stage-diff.ts';
import { MergeConfirm } from './merge-confirm.tsx';
import css from './stage-head.module.css';

/** Completes a stage, with or without merging it. `isQuiet` means that another action is likelier. */
export function CompleteActions({ stage, isQuiet }: { stage: StageView; isQuiet: boolean }) {
  const [asking, setAsking] = useState(false);
  const [asked, setAsked] = useState(0);
  const complete = useCompleteStage(stage.title);
  const merge = useMergeStage();
  const reloadDiff = useReloadDiff(stage.id);
  const navigate = useNavigate();
  const mergeSeen = ({ head, tree }: StageDiff) =>
    merge.mutate(
      { stageId: stage.id, head, tree },
      {
        onError: (error) => {
          if (!isOutdated(error)) return;
          reloadDiff();
          void navigate(`/stages/${stage.id}?tab=changes`, { replace: true });
        },
        onSettled: () => setAsking(false),
      },
    );
  const ask = () => {
    setAsked(asked + 1);
    setAsking(true);
  };
  const off = !useCanCommand() || complete.isPending || merge.isPending;
  const { worktree } = stage;
  const isFolded = isQuiet && worktree !== null;
  return (
    <>
      {/* Where something else comes first, a phone has no room for both. */}
      {isFolded && (
        <Menu position="bottom-end">
          <Menu.Target>
            <Button
              hiddenFrom="sm"
              variant="default"
              disabled={off}
              loading={complete.isPending || merge.isPending}
              rightSection={<IconChevronDown size={14} />}
            >
              Complete
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => complete.mutate(stage.id)}>Complete without merging</Menu.Item>
            <Menu.Item onClick={ask}>Complete and merge</Menu.Item>
          </Menu.Dropdown>
        </Menu>
      )}
      <Button
        visibleFrom={isFolded ? 'sm' : undefined}
        variant="default"
        disabled={off}
        loading={complete.isPending}
        onClick={() => complete.mutate(stage.id)}
      >
        Complete
      </Button>
      {worktree !== null && (
        <Button
          visibleFrom={isFolded ? 'sm' : undefined}
          variant={isQuiet ? 'default' : 'filled'}
          disabled={off}
          loading={merge.isPending}
          onClick={ask}
        >
          Complete and merge
        </Button>
      )}
      {merge.isError && (
        <div className={css.refused}>
          <FailureNote>
            <strong>Not merged, nothing was changed.</strong> {errorText(merge.error)}
          </FailureNote>
          <Button size="compact-sm" variant="default" onClick={() => merge.reset()}>
            Dismiss
          </Button>
        </div>
      )}
      <MergeConfirm
        key={asked}
        stage={stage}
        opened={asking}
        busy={merge.isPending}
        confirm={mergeSeen}
        close={() => setAsking(false)}
      />
    </>
  );
}
