import { isMidTurn, type StageView } from '@callboard/contract';
import { Menu } from '@mantine/core';
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import { useIsPaused, usePutPause } from './holds.ts';

/** Puts a stage on hold, or releases it: items of the menus of its row and its page. */
export function PauseItems({ stage, isOff }: { stage: StageView; isOff: boolean }) {
  const put = usePutPause(stage.title);
  const isPaused = useIsPaused(stage);
  const off = isOff || put.isPending;
  const scope = { stageIds: [stage.id] };
  const runs = stage.session !== null && isMidTurn(stage.session.state);
  return (
    <>
      {isPaused ? (
        <Menu.Item
          leftSection={<IconPlayerPlay size={16} />}
          disabled={off}
          onClick={() => put.mutate({ scope, held: false })}
        >
          Release
        </Menu.Item>
      ) : (
        <Menu.Item
          leftSection={<IconPlayerPause size={16} />}
          disabled={off}
          onClick={() => put.mutate({ scope, held: true })}
        >
          Hold
        </Menu.Item>
      )}
      {runs && (
        <Menu.Item
          leftSection={<IconPlayerPause size={16} />}
          disabled={off}
          onClick={() => put.mutate({ scope, held: true, interrupt: true })}
        >
          Hold and interrupt
        </Menu.Item>
      )}
    </>
  );
}
