import { isMidTurn, isPaused, type StageId, type StagePatch, type StageView } from '@callboard/contract';
import { Autocomplete, Button, Flex, Menu, Popover, Text } from '@mantine/core';
import { IconChevronDown } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useBoardUi } from '../../data/board-ui.ts';
import { usePutPause } from '../../data/pauses.tsx';
import { boardQuery, ownGroups } from '../../data/queries.ts';
import { startStage } from '../../data/stage-commands.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { count } from '../../lib/format.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { PRIORITIES } from '../../ui/marks.tsx';
import css from './board.module.css';
import { canStart } from './board-keys.ts';

/** Acts on all picked stages together. */
export function PickedBar() {
  const picked = useBoardUi((ui) => ui.picked);
  const { data: all = [] } = useQuery({ ...boardQuery, select: (view) => view.stages });
  const stages = all.filter(({ id }) => picked.has(id));
  if (stages.length === 0) return null;
  return (
    <div className={css.picked} role="toolbar" aria-label="Selected stages">
      <Text size="row" fw={500} style={{ whiteSpace: 'nowrap' }}>
        {count(stages.length, 'stage')} selected
      </Text>
      <Actions stages={stages} />
      <Button size="xs" variant="subtle" color="gray" title="Clear selection (Esc)" onClick={() => letGo(stages)}>
        Clear
      </Button>
    </div>
  );
}

function Actions({ stages }: { stages: readonly StageView[] }) {
  const off = !useCanCommand();
  const done = () => letGo(stages);
  const startable = stages.filter(canStart);
  const start = useCommand({ run: (ids: StageId[]) => forEach(ids, startStage), failed: FAILED, done });
  const change = useCommand({
    run: ({ ids, patch }: { ids: StageId[]; patch: StagePatch }) =>
      forEach(ids, (stageId) => client.command('update_stage', { stageId, patch })),
    failed: FAILED,
    done,
  });
  return (
    <>
      <Button
        size="xs"
        title="Start (S)"
        disabled={off || startable.length === 0}
        loading={start.isPending}
        onClick={() => start.mutate(idsOf(startable))}
      >
        Start
      </Button>
      <PausePicked stages={stages.filter(({ completedAt }) => completedAt === null)} done={done} />
      <Menu>
        <Menu.Target>
          <Button size="xs" variant="default" disabled={off} rightSection={<IconChevronDown size={14} />}>
            Priority
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {PRIORITIES.map(({ value, word }) => (
            <Menu.Item key={value} onClick={() => change.mutate({ ids: idsOf(stages), patch: { priority: value } })}>
              {word}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <PickedGroup disabled={off} choose={(group) => change.mutate({ ids: idsOf(stages), patch: { group } })} />
      <DeletePicked stages={stages} />
    </>
  );
}

/** Holds those that are not on hold, or releases the others. */
function PausePicked({ stages, done }: { stages: readonly StageView[]; done: () => void }) {
  const put = usePutPause('The selected stages', done);
  const off = !useCanCommand() || put.isPending;
  const { data: pauses = [] } = useQuery({ ...boardQuery, select: (view) => view.holds });
  const paused = stages.filter((stage) => isPaused(stage, pauses));
  const others = stages.filter((stage) => !paused.includes(stage));
  const running = stages.filter(({ session }) => session !== null && isMidTurn(session.state));
  const order = (some: readonly StageView[], held: boolean, interrupt = false) =>
    put.mutate({ scope: { stageIds: idsOf(some) }, held, ...(interrupt && { interrupt }) });
  return (
    <>
      {(others.length > 0 || paused.length === 0) && (
        <Button
          size="xs"
          variant="default"
          title="Hold (H)"
          disabled={off || others.length === 0}
          loading={put.isPending && put.variables.held && !put.variables.interrupt}
          onClick={() => order(others, true)}
        >
          Hold
        </Button>
      )}
      {running.length > 0 && others.length > 0 && (
        <Button
          size="xs"
          variant="default"
          disabled={off}
          loading={put.isPending && put.variables.interrupt === true}
          onClick={() => order(stages, true, true)}
        >
          Hold and interrupt
        </Button>
      )}
      {paused.length > 0 && (
        <Button
          size="xs"
          variant="default"
          title={others.length > 0 ? undefined : 'Release (H)'}
          disabled={off}
          loading={put.isPending && !put.variables.held}
          onClick={() => order(paused, false)}
        >
          Release
        </Button>
      )}
    </>
  );
}

function DeletePicked({ stages }: { stages: readonly StageView[] }) {
  const [isAsking, setIsAsking] = useState(false);
  const off = !useCanCommand();
  const { unpick } = useBoardUi.getState();
  const remove = useCommand({
    run: (ids: StageId[]) =>
      forEach(ids, (stageId) => client.command('remove_stage', { stageId, buildFolders: 'keep' })),
    failed: FAILED,
    done: () => {
      setIsAsking(false);
      unpick();
    },
  });
  const titles = stages.map(({ title }) => title).join(', ');
  return (
    <>
      <Button size="xs" variant="default" disabled={off} onClick={() => setIsAsking(true)}>
        Delete
      </Button>
      <Confirm
        opened={isAsking}
        title={`Delete ${count(stages.length, 'stage')}`}
        text={`${titles}: with their transcripts and queues. Files that git ignores go to the trash for 30 days. Decisions stay in the decision log.`}
        verb="Delete"
        busy={remove.isPending}
        confirm={() => remove.mutate(idsOf(stages))}
        close={() => setIsAsking(false)}
      />
    </>
  );
}

const FAILED = 'Not all selected stages were changed';

/** Unpicks all, and gives the focus back to the last one: the bar that had it goes. */
function letGo(stages: readonly StageView[]): void {
  const { unpick, goTo } = useBoardUi.getState();
  const last = stages.at(-1);
  unpick();
  if (last !== undefined) goTo(last.id);
}

const idsOf = (stages: readonly StageView[]): StageId[] => stages.map(({ id }) => id);

/** Does it for all, however many fail. @throws the first failure */
async function forEach(ids: readonly StageId[], act: (stageId: StageId) => Promise<unknown>): Promise<void> {
  const results = await Promise.allSettled(ids.map(act));
  const failed = results.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

interface PickedGroupProps {
  disabled: boolean;
  /** Null takes the stages out of their groups. */
  choose: (group: string | null) => void;
}

/** Puts all picked stages into one group, a known or a new one. */
export function PickedGroup({ disabled, choose }: PickedGroupProps) {
  const { data: groups = [] } = useQuery({ ...boardQuery, select: ownGroups });
  const [isOpen, setIsOpen] = useState(false);
  const [group, setGroup] = useState('');
  const send = () => {
    setIsOpen(false);
    choose(group.trim() === '' ? null : group.trim());
  };
  return (
    <Popover opened={isOpen} onChange={setIsOpen} trapFocus returnFocus>
      <Popover.Target>
        <Button
          size="xs"
          variant="default"
          disabled={disabled}
          rightSection={<IconChevronDown size={14} />}
          onClick={() => setIsOpen(!isOpen)}
        >
          Group
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Flex
          component="form"
          gap="sm"
          onSubmit={(event) => {
            event.preventDefault();
            send();
          }}
        >
          <Autocomplete
            aria-label="Group of the selected stages"
            placeholder="No group"
            size="xs"
            maxLength={60}
            data={groups}
            value={group}
            onChange={setGroup}
            comboboxProps={{ withinPortal: false }}
          />
          <Button type="submit" size="xs">
            {group.trim() === '' ? 'Take out of groups' : 'Put into group'}
          </Button>
        </Flex>
      </Popover.Dropdown>
    </Popover>
  );
}
